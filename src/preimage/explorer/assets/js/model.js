// A fitted model: into feature space and back.

export class Model {
  constructor(record) {
    this.name = record.name;
    this.k = record.frame.shape[1];
  }
}
