/** What agents say, as nodes: Markdown through a parser, then through a sanitiser that knows a short list of tags.
 *
 * HTML in it is shown as the text that it is; pictures are links, because the page loads nothing from elsewhere. */
import createPurifier from "dompurify";
import { Marked, type Tokens } from "marked";

const TAGS = [
  ...["p", "br", "hr", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a"],
  ...["h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "input"],
];
const ATTRIBUTES = ["href", "title", "start", "type", "checked", "disabled", "align"];
const LINKS = /^(?:https?:|mailto:)/i;

const purifier = createPurifier(window);
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    if (node.hasAttribute("href")) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer nofollow");
    }
  } else if (node.tagName === "INPUT") {
    if (node.getAttribute("type") !== "checkbox") node.remove();
    else node.setAttribute("disabled", "");
  }
});

const marked = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: {
    html: (token: Tokens.HTML | Tokens.Tag) => escaped(token.text),
    image: (token: Tokens.Image) => `<a href="${escaped(token.href)}">${escaped(token.text || token.href)}</a>`,
  },
});

/** The text as nodes that are safe to show. */
export function markdown(text: string): DocumentFragment {
  return purifier.sanitize(marked.parse(text) as string, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOWED_URI_REGEXP: LINKS,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);
}
