// Live pages of the explorer follow the light or dark colours of the site.
document.addEventListener("DOMContentLoaded", () => {
  const frames = [...document.querySelectorAll("iframe.live-explorer")];
  if (!frames.length) return;
  const follow = () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "dark" : "light";
    for (const frame of frames) {
      const [address] = frame.getAttribute("src").split("#");
      if (frame.getAttribute("src") !== `${address}#theme=${theme}`) frame.setAttribute("src", `${address}#theme=${theme}`);
    }
  };
  new MutationObserver(follow).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  follow();
});
