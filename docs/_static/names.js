// Names for parts that the keyboard reaches and the theme leaves without one, so that screen readers can say them.
document.addEventListener("DOMContentLoaded", () => {
  const name = (selector, role, text) =>
    document.querySelectorAll(selector).forEach((node) => {
      if (role) node.setAttribute("role", role);
      node.setAttribute("aria-label", text(node));
    });
  name(".bd-sidebar details > summary", null, (node) => {
    const title = node.closest("li")?.querySelector("a")?.textContent.trim();
    return `Pages of ${title ?? "this section"}`;
  });
  name(".bd-article pre", "group", (node) => (node.closest(".output, .sphx-glr-script-out") ? "Output" : "Code"));
  name(".pst-scrollable-table-container", "group", () => "Table");
});
