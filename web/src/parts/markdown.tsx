/**
 * Markdown of models and users: marks up text and loads nothing. HTML stays text, pictures are their descriptions, a link
 * says its host, and what deceives is marked as in any other text.
 */
import Markdown, { type Components } from 'react-markdown'
import { markDeception } from './text.tsx'

/** What of the syntax tree is needed here. */
interface Node {
  type: string
  value?: string
  children?: Node[] | undefined
}

/** Each piece of text, HTML included, as a `span`, so that its component can mark what deceives. */
const marks = () => (tree: object) => wrap(tree as Node)

function wrap(node: Node): void {
  node.children = node.children?.map((child) => {
    if (child.type !== 'text' && child.type !== 'raw') {
      wrap(child)
      return child
    }
    const text = { type: 'text', value: child.value ?? '' }
    // The space between the items of a list stands where no element may.
    if (/^[ \n\t]*$/.test(text.value)) return text
    return { type: 'element', tagName: 'span', properties: {}, children: [text] } as Node
  })
}

/** Headings of a text are none of the page. */
const Heading: Components['h1'] = ({ children }) => (
  <p>
    <strong>{children}</strong>
  </p>
)

const components: Components = {
  span: ({ children }) => <bdi>{typeof children === 'string' ? markDeception(children) : children}</bdi>,
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  img: ({ alt, src }) => <bdi>{markDeception(alt || String(src ?? ''))}</bdi>,
  a: ({ href, children }) => {
    const to = href && URL.canParse(href) ? new URL(href) : null
    if (!to || !/^https?:$/.test(to.protocol)) return children
    return (
      <>
        <a href={to.href} rel="noreferrer" target="_blank">
          {children}
        </a>{' '}
        <span className="mute small">({to.host})</span>
      </>
    )
  },
}

export default function Rendered({ text }: { text: string }) {
  return (
    <div className="prose">
      <Markdown rehypePlugins={[marks]} components={components}>
        {text}
      </Markdown>
    </div>
  )
}
