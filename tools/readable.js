// Looks at documents: text that is cut, that lies on other text, or that is hard to see; words that
// tables break, and tables that a wide window does not hold. Of the site it looks at the article.
function problems(doc, name) {
  const win = doc.defaultView, found = [], texts = [];
  const width = doc.documentElement.clientWidth;
  if (doc.documentElement.scrollWidth > width) found.push('is wider than ' + width);
  const root = doc.querySelector('article.md-content__inner') || doc.body;
  const walker = doc.createTreeWalker(root, win.NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const text = node.textContent.trim(), owner = node.parentElement;
    if (!text || owner.closest('script, style, title, defs, .headerlink')) continue;
    const head = owner.closest('thead');
    if (head && win.getComputedStyle(head).clipPath != 'none') continue;
    const range = doc.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      if (box.width > 0) texts.push({box, node, owner, text: text.slice(0, 40)});
    if (owner.closest('td, th'))
      for (const word of node.textContent.matchAll(/\w+/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        if (range.getClientRects().length > 1) found.push('broken: ' + word[0]);
      }
    const svg = owner.closest('svg');
    let back = null;
    for (let up = owner; up && !back; up = up.parentElement) {
      const colour = win.getComputedStyle(up).backgroundColor;
      if (!/^rgba.*, 0[.\d]*\)$/.test(colour)) back = colour; // a tint does not hide what is below
    }
    const style = win.getComputedStyle(owner);
    const ink = svg && owner.closest('text') ? style.fill : style.color;
    const ratio = contrast(ink, back || 'rgb(255, 255, 255)');
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(1)}: ${text.slice(0, 40)}`);
  }
  for (const one of texts) {
    const svg = one.owner.closest('svg');
    const all = {left: 0, right: width, top: -1e9, bottom: 1e9};
    let scrolls = false;
    for (let up = one.owner; up; up = up.parentElement)
      scrolls ||= win.getComputedStyle(up).overflowX == 'auto';
    const wide = {left: -1e9, right: 1e9, top: -1e9, bottom: 1e9};
    const room = svg ? svg.getBoundingClientRect() : scrolls ? wide : all;
    if (one.box.left < room.left - 1 || one.box.right > room.right + 1 ||
        one.box.top < room.top - 2 || one.box.bottom > room.bottom + 2)
      found.push('cut: ' + one.text);
  }
  texts.sort((a, b) => a.box.top - b.box.top);
  for (let i = 0; i < texts.length; i++)
    for (let j = i + 1; j < texts.length && texts[j].box.top < texts[i].box.bottom; j++) {
      const a = texts[i].box, b = texts[j].box;
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (texts[i].node != texts[j].node && wide > 2 && high > 0.3 * Math.min(a.height, b.height))
        found.push(`overlap: ${texts[i].text} | ${texts[j].text}`);
    }
  if (width >= 1280)
    for (const table of root.querySelectorAll('table'))
      if (table.scrollWidth > table.clientWidth + 1)
        found.push(`wide table, ${table.scrollWidth - table.clientWidth}: ` + table.textContent.trim().slice(0, 40));
  for (const box of root.querySelectorAll('*'))
    if (win.getComputedStyle(box).overflowX == 'hidden' && box.scrollWidth > box.clientWidth + 1 &&
        !box.closest('thead, svg')) found.push('hidden: ' + box.textContent.trim().slice(0, 40));
  if (!texts.length) found.push('has no text');
  return [...new Set(found)].map(one => `${name}, ${width} px: ${one}`);
}
function contrast(one, other) {
  const light = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map(x => x / 255).map(
      x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [a, b] = [light(one), light(other)];
  return Math.max(a, b) / Math.min(a, b);
}
window.onload = () => {
  const found = [];
  for (const frame of document.querySelectorAll('iframe')) {
    const doc = frame.contentDocument, look = document.createElement('style');
    look.textContent = '.md-header {display: none} * {transition: none !important}';
    doc.head.append(look);
    const widths = (frame.dataset.widths || `${frame.offsetWidth}`).split(' ');
    for (const width of widths) {
      frame.style.width = width + 'px';
      found.push(...problems(doc, frame.title));
    }
    for (const scheme of (frame.dataset.schemes || '').split(' ').filter(Boolean)) {
      doc.body.dataset.mdColorScheme = scheme;
      found.push(...problems(doc, `${frame.title}, ${scheme}`).filter(one => /contrast/.test(one)));
    }
  }
  document.body.textContent = JSON.stringify(found);
};
