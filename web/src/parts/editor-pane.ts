/** The JSON editor itself, loaded when somebody edits for the first time. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { linter } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { tags } from '@lezer/highlight'
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'

export interface EditorPane {
  text(): string
  focus(): void
  destroy(): void
}

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--sunk)', fontSize: '13px', maxHeight: '50vh' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)', padding: '8px 0' },
  '.cm-gutters': { backgroundColor: 'var(--sunk)', color: 'var(--mute)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { overflow: 'auto', fontFamily: 'var(--mono)' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', color: 'var(--text)', border: '1px solid var(--line)' },
})

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
])

/**
 * Opens an editor in `host`. It lives in a shadow root, because it writes its styles itself: there they are constructed
 * style sheets, which the content security policy allows.
 */
export function openEditor(
  host: HTMLElement,
  text: string,
  label: string,
  onChange: (text: string) => void,
): EditorPane {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const parent = document.createElement('div')
  root.replaceChildren(parent)
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        syntaxHighlighting(colours),
        json(),
        linter(jsonParseLinter()),
        // Ctrl or ⌘ with Enter belongs to the page.
        keymap.of([...defaultKeymap.filter(({ key }) => key !== 'Mod-Enter'), ...historyKeymap]),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        EditorView.lineWrapping,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString())
        }),
        theme,
      ],
    }),
  })
  return { text: () => view.state.doc.toString(), focus: () => view.focus(), destroy: () => view.destroy() }
}
