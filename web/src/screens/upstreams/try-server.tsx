/** Asks a server once, before a tool is made of it. Nothing is stored. */
import { useState } from 'react'
import type { ResultOf } from '../../api/document.ts'
import { Field } from '../../parts/fields.tsx'
import { Foreign } from '../../parts/text.tsx'
import { testMutation } from './documents.ts'
import { UpstreamStatus } from './upstream-status.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useMutation, type Payload } from '../../api/query.ts'

type Result = Payload<ResultOf<typeof testMutation>>

export function TryServer({ onClose }: { onClose(): void }) {
  const [url, setUrl] = useState('')
  const [result, setResult] = useState<Result | null>(null)
  const form = useMutation(testMutation)
  const run = async () => {
    setResult(null)
    setResult(await form.send({ input: { url } }))
  }
  return (
    <FormDialog
      title="Try a server"
      submit="Ask it"
      busy="Asking …"
      isReady={url !== ''}
      form={form}
      onSubmit={run}
      onClose={onClose}
      foot={result && <Answer result={result} />}
    >
      <Field
        label="URL of the MCP server"
        name="url"
        type="url"
        value={url}
        onChange={setUrl}
        isRequired
        issues={form.refused?.issues ?? []}
        placeholder="https://mcp.example.com/mcp"
      />
    </FormDialog>
  )
}

function Answer({ result }: { result: Result }) {
  return (
    <div className="stack" role="status">
      <p>
        <UpstreamStatus status={result.status} />
        {result.transport && (
          <span className="mute"> over {result.transport.toLowerCase().replaceAll('_', ' ')}</span>
        )}
      </p>
      {result.error && (
        <p className="tone-bad">
          <span className="mono">{result.error.code}</span> <Foreign text={result.error.message} max={500} />
        </p>
      )}
      {result.tools.length > 0 && (
        <p>
          {result.tools.length} {result.tools.length === 1 ? 'tool' : 'tools'}:{' '}
          <span className="mono small">
            <Foreign text={result.tools.join(', ')} max={600} />
          </span>
        </p>
      )}
    </div>
  )
}
