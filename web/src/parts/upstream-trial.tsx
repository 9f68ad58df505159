/** Asks an MCP server once, before a tool is made of it. Nothing is stored. */
import { useState } from 'react'
import { graphql, type ResultOf, type VariablesOf } from '../api/document.ts'
import { command } from '../api/command.ts'
import type { MutationRefusal } from '../api/outcome.ts'
import { useMutation, type Payload } from '../api/query.ts'
import { Foreign } from './text.tsx'
import { UpstreamStatus } from './upstream-status.tsx'
import { Fault } from './fault.tsx'
import { t, plural } from '../texts/texts.tsx'

const testAnswer = graphql(`
  fragment TestUpstreamAnswer on TestUpstreamPayload {
    ok
    status
    era
    transport
    tools
    error {
      code
      message
    }
  }
`)
const testMutation = command('testUpstream', testAnswer)

/** A server with what is needed to sign in there. */
export type TrialServer = VariablesOf<typeof testMutation>['input']
type Trial = Payload<ResultOf<typeof testMutation>>

/** `input`: the server as the fields have it now; null: they have faults. */
export function UpstreamTrial({ isReady, input }: { isReady: boolean; input(): TrialServer | null }) {
  const { send, isRunning, refused } = useMutation(testMutation)
  const [trial, setTrial] = useState<Trial | null>(null)
  const run = async () => {
    setTrial(null)
    const given = input()
    if (given) setTrial(await send({ input: given }))
  }
  return (
    <div className="stack">
      <p className="row">
        <button type="button" disabled={!isReady || isRunning} onClick={() => void run()}>
          {isRunning ? t('Asking the server …') : t('Test the connection')}
        </button>
        <span className="small mute">{t('Asks the server what it offers. Nothing is saved.')}</span>
      </p>
      {refused && <Refusals refused={refused} />}
      {trial && <Answer trial={trial} />}
    </div>
  )
}

function Refusals({ refused: { message, issues } }: { refused: MutationRefusal }) {
  const told = issues.map(({ path, message: fault }) => `${path.slice(1).join('.')} ${fault}`)
  return <Fault className="" text={told.length > 0 ? told.join('; ') : message} />
}

function Answer({ trial: { status, transport, error, tools } }: { trial: Trial }) {
  return (
    <div className="stack" role="status">
      <p>
        <UpstreamStatus status={status} />
        {transport && (
          <span className="mute">
            {' '}
            {t('over {transport}', { transport: transport.toLowerCase().replaceAll('_', ' ') })}
          </span>
        )}
      </p>
      {error && (
        <p className="tone-bad">
          <span className="mono">{error.code}</span> <Foreign text={error.message} max={500} />
        </p>
      )}
      {tools.length > 0 && (
        <p>
          {plural(tools.length, '1 tool:', '{count} tools:')}{' '}
          <Foreign className="mono small" text={tools.join(', ')} max={600} />
        </p>
      )}
    </div>
  )
}
