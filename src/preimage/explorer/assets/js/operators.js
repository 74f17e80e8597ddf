/**
 * Elementwise operators of programs, with the names of ONNX, and their derivatives.
 *
 * A unary operator is [f(x), f′ as a function of x and f(x)]; a binary one is [f(a, b), ∂f/∂a, ∂f/∂b] with derivatives
 * as functions of a, b and f(a, b). Comparisons are 1 or 0. Derivatives at jumps and corners are those of one side,
 * which matter only where a formula has no derivative.
 */

const nothing = () => 0;
const truth = (condition) => (condition ? 1 : 0);

/** Operators of one vector. */
export const UNARY = {
  Neg: [(x) => -x, () => -1],
  Abs: [Math.abs, (x) => Math.sign(x)],
  Sign: [Math.sign, nothing],
  Floor: [Math.floor, nothing],
  Ceil: [Math.ceil, nothing],
  Exp: [Math.exp, (x, y) => y],
  Log: [Math.log, (x) => 1 / x],
  Log1p: [Math.log1p, (x) => 1 / (1 + x)],
  Expm1: [Math.expm1, (x, y) => 1 + y],
  Sqrt: [Math.sqrt, (x, y) => 0.5 / y],
  Reciprocal: [(x) => 1 / x, (x, y) => -y * y],
  Not: [(x) => truth(x === 0), nothing],
  Sin: [Math.sin, (x) => Math.cos(x)],
  Cos: [Math.cos, (x) => -Math.sin(x)],
  Tan: [Math.tan, (x, y) => 1 + y * y],
  Asin: [Math.asin, (x) => 1 / Math.sqrt(1 - x * x)],
  Acos: [Math.acos, (x) => -1 / Math.sqrt(1 - x * x)],
  Atan: [Math.atan, (x) => 1 / (1 + x * x)],
  Sinh: [Math.sinh, (x) => Math.cosh(x)],
  Cosh: [Math.cosh, (x) => Math.sinh(x)],
  Tanh: [Math.tanh, (x, y) => 1 - y * y],
  Asinh: [Math.asinh, (x) => 1 / Math.sqrt(1 + x * x)],
  Acosh: [Math.acosh, (x) => 1 / Math.sqrt(x * x - 1)],
  Atanh: [Math.atanh, (x) => 1 / (1 - x * x)],
};

/** Operators of two vectors, without those of `VECTORS`. */
export const BINARY = {
  Div: [(a, b) => a / b, (a, b) => 1 / b, (a, b, y) => -y / b],
  Pow: [Math.pow, (a, b) => b * Math.pow(a, b - 1), (a, b, y) => y * Math.log(a)],
  Max: [Math.max, (a, b) => truth(a >= b), (a, b) => truth(a < b)],
  Min: [Math.min, (a, b) => truth(a <= b), (a, b) => truth(a > b)],
  And: [(a, b) => truth(a !== 0 && b !== 0), nothing, nothing],
  Or: [(a, b) => truth(a !== 0 || b !== 0), nothing, nothing],
  Less: [(a, b) => truth(a < b), nothing, nothing],
  LessOrEqual: [(a, b) => truth(a <= b), nothing, nothing],
  Greater: [(a, b) => truth(a > b), nothing, nothing],
  GreaterOrEqual: [(a, b) => truth(a >= b), nothing, nothing],
};

/**
 * Sums and products of whole vectors, of which most formulas consist: loops of their own take a third of the time of
 * loops that call a function for each number. [writes f(x, y) to out; adds to `sum` the adjoint of x; that of y], where
 * a, b and s say how far apart the numbers of x, y and the sum are: 0 for a vector of length one.
 */
export const VECTORS = {
  Add: [
    (x, a, y, b, out) => {
      for (let i = 0; i < out.length; i++) out[i] = x[i * a] + y[i * b];
    },
    (adjoint, x, a, y, b, sum, s) => addTo(sum, s, adjoint, 1),
    (adjoint, x, a, y, b, sum, s) => addTo(sum, s, adjoint, 1),
  ],
  Sub: [
    (x, a, y, b, out) => {
      for (let i = 0; i < out.length; i++) out[i] = x[i * a] - y[i * b];
    },
    (adjoint, x, a, y, b, sum, s) => addTo(sum, s, adjoint, 1),
    (adjoint, x, a, y, b, sum, s) => addTo(sum, s, adjoint, -1),
  ],
  Mul: [
    (x, a, y, b, out) => {
      for (let i = 0; i < out.length; i++) out[i] = x[i * a] * y[i * b];
    },
    (adjoint, x, a, y, b, sum, s) => addProducts(sum, s, adjoint, y, b),
    (adjoint, x, a, y, b, sum, s) => addProducts(sum, s, adjoint, x, a),
  ],
};

function addTo(sum, s, adjoint, sign) {
  for (let i = 0; i < adjoint.length; i++) sum[i * s] += sign * adjoint[i];
}

function addProducts(sum, s, adjoint, other, step) {
  for (let i = 0; i < adjoint.length; i++) sum[i * s] += chained(adjoint[i], other[i * step]);
}

/** A product that is zero where the adjoint is: derivatives of parts that were not chosen may be infinite. */
export function chained(adjoint, derivative) {
  return adjoint === 0 ? 0 : adjoint * derivative;
}
