/** A field for the output of a call, as text or as JSON. */
import { useState } from 'react'
import './output-field.css'
import { parseExactly } from './exact-json.ts'
import { JsonEditor } from './json-editor.tsx'
import { Boundary } from './states.tsx'
import { t } from '../texts/texts.tsx'

export interface Output {
  isJson: boolean
  text: string
}

export const noOutput: Output = { isJson: false, text: '' }

/** What is sent, or why it cannot be. */
export function readOutput({ isJson, text }: Output): { value: unknown } | { broken: string } {
  if (!isJson) return { value: text }
  try {
    return { value: parseExactly(text) }
  } catch (error) {
    return { broken: error instanceof Error ? error.message : String(error) }
  }
}

interface Props {
  output: Output
  label: string
  onChange(output: Output): void
}

export function OutputField({ output, label, onChange }: Props) {
  // The editor keeps its own text: it begins with what stood in the other field.
  const [initial, setInitial] = useState(output.text)
  const show = (isJson: boolean) => {
    setInitial(output.text)
    onChange({ ...output, isJson })
  }
  const plain = (
    <textarea
      rows={4}
      className={output.isJson ? 'mono' : undefined}
      aria-label={label}
      value={output.text}
      onChange={(event) => onChange({ ...output, text: event.target.value })}
    />
  )
  return (
    <div className="output-field">
      <div className="segments" role="group" aria-label={t('{label} is', { label })}>
        <button type="button" aria-pressed={!output.isJson} onClick={() => show(false)}>
          {t('Text')}
        </button>
        <button type="button" aria-pressed={output.isJson} onClick={() => show(true)}>
          {t('JSON')}
        </button>
      </div>
      {output.isJson ? (
        <Boundary renderFallback={() => plain}>
          <JsonEditor initial={initial} label={label} onChange={(text) => onChange({ ...output, text })} />
        </Boundary>
      ) : (
        plain
      )}
    </div>
  )
}
