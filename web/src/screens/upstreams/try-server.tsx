/** Asks a server once, before a tool is made of it. Nothing is stored. */
import { useState, type FormEvent } from 'react'
import type { ResultOf } from '../../api/document.ts'
import { refusalOf } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Refusal } from '../../parts/fields.tsx'
import { Foreign } from '../../parts/text.tsx'
import { testMutation } from './documents.ts'
import { UpstreamStatus } from './upstream-status.tsx'

type Result = ResultOf<typeof testMutation>['testUpstream']

export function TryServer({ onClose }: { onClose(): void }) {
  const [url, setUrl] = useState('')
  const [result, setResult] = useState<Result | null>(null)
  const { mutate, isRunning, error } = useMutation(testMutation)
  const run = async (event: FormEvent) => {
    event.preventDefault()
    setResult(null)
    setResult((await mutate({ input: { url } }))?.testUpstream ?? null)
  }
  const refused = refusalOf(result, error)
  return (
    <Dialog title="Try a server" onClose={onClose}>
      <form className="stack" onSubmit={(event) => void run(event)}>
        <Field
          label="URL of the MCP server"
          name="url"
          type="url"
          value={url}
          onChange={setUrl}
          isRequired
          issues={refused?.issues ?? []}
          placeholder="https://mcp.example.com/mcp"
        />
        <Refusal message={refused?.message ?? null} />
        <button type="submit" className="primary" disabled={isRunning || url === ''}>
          {isRunning ? 'Asking …' : 'Ask it'}
        </button>
        {result?.__typename === 'TestUpstreamPayload' && <Answer result={result} />}
      </form>
    </Dialog>
  )
}

function Answer({ result }: { result: Extract<Result, { __typename: 'TestUpstreamPayload' }> }) {
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
