/** One call: what was asked of which tool, what became of it, each attempt, and what a person can do about it. */
import { useEffect } from 'react'
import { Link } from 'wouter'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { Arguments } from '../../parts/json-view.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { QuestionHere } from '../../parts/question/question-here.tsx'
import { Principal, Requester } from '../../parts/principal.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign, LongText } from '../../parts/text.tsx'
import { Votes } from '../../parts/votes.tsx'
import { Attempts } from './attempts.tsx'
import { Fact } from '../../parts/fact.tsx'
import { UnknownOutcome } from './unknown-outcome.tsx'
import { Result } from '../../parts/run/result.tsx'
import type { Call } from '../../parts/run/call-documents.ts'
import type { CallRow } from '../../parts/run/run-documents.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { useCall } from '../../parts/run/use-call.ts'
import { SubmitOutput } from '../../parts/run/submit-output.tsx'
import type { RunsOnScreen } from './use-runs.tsx'
import { t, T } from '../../texts/texts.tsx'

interface Props {
  id: string
  run: Run
  runs: RunsOnScreen
}

export function CallPane({ id, run, runs }: Props) {
  const read = useCall(id, rowIn([run, ...runs.children.values()], id))
  const call = read.data?.toolCall
  // A call of a child run that was opened by its link: its run is followed as if it had been opened by hand.
  const owner = call?.generation?.id
  const { open, opened } = runs
  useEffect(() => {
    if (owner !== undefined && owner !== run.id && !opened.has(owner)) open(owner)
  }, [owner, run.id, opened, open])
  if (read.error !== null && !call) return <Failure error={read.error} retry={read.reload} />
  if (call === null) return <Empty title={t('There is no such call')} />
  if (!call) return <Skeleton lines={8} />
  return <OneCall call={call} reload={read.reload} />
}

function rowIn(runs: readonly Run[], id: string): CallRow | undefined {
  for (const { toolCalls } of runs) {
    const row = toolCalls.find((call) => call.id === id)
    if (row) return row
  }
  return undefined
}

function OneCall({ call, reload }: { call: Call; reload(): void }) {
  const { name, status, approval, child, askedAgent } = call
  return (
    <>
      <div className="row">
        <h2 className="run-pane-title mono">
          <Foreign text={name} max={120} />
        </h2>
        <span role="status">
          <Badge status={status} />
        </span>
      </div>
      {approval?.status === 'PENDING' && <QuestionHere id={approval.id} onDecided={reload} />}
      {approval && approval.status !== 'PENDING' && <Decided approval={approval} />}
      {status === 'AWAITING_CLIENT' && call.generation && (
        <SubmitOutput call={call} generationId={call.generation.id} onDone={reload} />
      )}
      {status === 'UNKNOWN' && <UnknownOutcome call={call} onDone={reload} />}
      {child && (
        <p className="run-note">
          <T
            text="{agent} answers this call in a child run: {link}"
            agent={askedAgent ? <Foreign text={askedAgent.name} max={80} /> : t('An agent')}
            link={<Link href={`/runs/${child.id}`}>{t('open it')}</Link>}
          />{' '}
          <Badge status={child.status} />
        </p>
      )}
      {approval?.status !== 'PENDING' && <Asked call={call} />}
      <Result call={call} />
      <Attempts call={call} />
      <Facts call={call} />
    </>
  )
}

function Asked({ call }: { call: Call }) {
  const { editedArguments, rawArguments } = call
  return (
    <section aria-label={t('Arguments')}>
      <h3>{t('Arguments')}</h3>
      {call.arguments ? (
        <Arguments value={call.arguments} schema={call.tool?.inputSchema ?? null} />
      ) : rawArguments !== null ? (
        <>
          <p className="mute">{t('The model did not write valid arguments:')}</p>
          <LongText mono text={rawArguments} />
        </>
      ) : (
        <p className="mute">{t('No arguments.')}</p>
      )}
      {editedArguments.length > 0 && (
        <p className="small mute">
          <T
            text="Changed by an approver: {places}"
            places={<Foreign text={editedArguments.join(', ')} max={400} />}
          />
        </p>
      )}
      {call.attachments.length > 0 && (
        <p className="small mute">
          <T
            text="Files: {files}"
            files={<Foreign text={call.attachments.map(({ filename }) => filename).join(', ')} max={400} />}
          />
        </p>
      )}
    </section>
  )
}

function Decided({ approval }: { approval: NonNullable<Call['approval']> }) {
  const { id, status, settledAt, votes } = approval
  return (
    <div className="run-note">
      <p>
        <Badge status={status} /> {settledAt !== null && <Ago at={settledAt} />}
      </p>
      <Votes votes={votes} status={status} />
      <Link href={`/approvals/${id}`}>{t('Open the request')}</Link>
    </div>
  )
}

const sources: Record<string, string> = {
  GENERATION: t('its run'),
  DIRECT: t('a direct call'),
  BRIDGE: t('an MCP client'),
}

function Facts({ call }: { call: Call }) {
  return (
    <dl className="run-facts">
      {call.tool && (
        <Fact name={t('Tool')}>
          <Link href={`/tools/${call.tool.id}`}>
            <Foreign text={call.tool.name} max={80} />
          </Link>
          {call.toolVersion !== null && (
            <span className="mute"> {t('version {version}', { version: call.toolVersion })}</span>
          )}
        </Fact>
      )}
      {call.stepIndex !== null && <Fact name={t('Step')}>{call.stepIndex}</Fact>}
      {call.source !== 'GENERATION' && <Fact name={t('From')}>{sources[call.source]}</Fact>}
      <Fact name={t('Asked for')}>
        <Moment at={call.createdAt} />
      </Fact>
      {call.settledAt !== null && (
        <Fact name={t('Settled')}>
          <Moment at={call.settledAt} />
        </Fact>
      )}
      {call.resolution !== null && call.resolvedAt !== null && (
        <Fact name={t('Resolved')}>
          {t('as {outcome}', { outcome: wordsOf(call.resolution) })}
          {call.resolver && (
            <>
              {' '}
              <T text="by {who}" who={<Principal of={call.resolver} />} />
            </>
          )}{' '}
          <Ago at={call.resolvedAt} />
        </Fact>
      )}
      {call.source !== 'GENERATION' && (
        <Fact name={t('By')}>
          <Requester of={call.requester} actsFor={call.actsFor} />
        </Fact>
      )}
      {call.grant && <Fact name={t('Passed the gate')}>{t('by a grant')}</Fact>}
      <Fact name={t('Id')}>
        <CopyId id={call.id} />
      </Fact>
    </dl>
  )
}
