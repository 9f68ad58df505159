/** One entry of the audit: what was done to what, with the question and the call that it is about. */
import { Link } from 'wouter'
import type { Thing } from '../../api/things.ts'
import { Badge, wordsOf } from '../../parts/badge.tsx'
import { JsonText } from '../../parts/json-view.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import { wayOf } from '../../parts/votes.tsx'
import type { Entry } from './audit-documents.ts'
import { t, T } from '../../texts/texts.tsx'

const tones: Record<string, string> = { ALLOWED: 'tone-good', DENIED: 'tone-bad', EXECUTED: 'tone-work' }
const verdicts: Record<string, string> = { APPROVE: 'APPROVED', REJECT: 'REJECTED' }

/** What can be acted on, as far as it has a page. */
const nouns: Record<string, string> = {
  tool: t('tool'),
  agent: t('agent'),
  key: t('key'),
  generation: t('run'),
  approval: t('approval'),
}

type Things = ReadonlyMap<string, Thing>

/** The ids that an entry names: its resource, and the question and the call of its details. */
export function idsOf({ resource, details }: Pick<Entry, 'resource' | 'details'>) {
  const detail = (name: string) => (typeof details[name] === 'string' ? details[name] : null)
  const subject = resource.slice(resource.indexOf('/') + 1)
  return { subject, approvalId: detail('approvalId'), callId: detail('toolCallId') }
}

interface RowProps {
  entry: Entry
  things: Things
  isOpen: boolean
  onToggle(): void
  onNarrow(members: { action: string } | { on: string }): void
}

export function AuditRow({ entry, things, isOpen, onToggle, onNarrow }: RowProps) {
  return (
    <tr>
      <td className="mono">{entry.action}</td>
      <td className={tones[entry.outcome] ?? ''}>
        <Outcome entry={entry} />
      </td>
      <td>
        <Principal of={entry.principal} />
      </td>
      <td>
        <What entry={entry} things={things} />
        <Resource entry={entry} things={things} />
        <About entry={entry} things={things} />
        {isOpen && (
          <>
            <JsonText value={entry.details} />
            <div className="row audit-narrow">
              <button type="button" className="quiet" onClick={() => onNarrow({ action: entry.action })}>
                {t('Only this action')}
              </button>
              <button type="button" className="quiet" onClick={() => onNarrow({ on: entry.resource })}>
                {t('Only this resource')}
              </button>
            </div>
          </>
        )}
      </td>
      <td>
        <Ago at={entry.createdAt} />
      </td>
      <td className="actions">
        <button type="button" className="quiet" aria-expanded={isOpen} onClick={onToggle}>
          {t('Details')}
        </button>
      </td>
    </tr>
  )
}

/** A verdict says which one it was. */
function Outcome({ entry: { action, outcome, details } }: { entry: Entry }) {
  const verdict = typeof details['verdict'] === 'string' ? verdicts[details['verdict']] : undefined
  if (action !== 'approvals:Decide' || outcome !== 'ALLOWED' || !verdict) return wordsOf(outcome)
  return <Badge status={verdict} />
}

interface NamedProps {
  entry: Entry
  things: Things
}

/** The sentence of the question or call that the entry is about. */
function What({ entry, things }: NamedProps) {
  const { subject, approvalId, callId } = idsOf(entry)
  const about = [subject, approvalId, callId].find((id) => id !== null && things.get(id)?.sentence)
  const sentence = about ? things.get(about)?.sentence : null
  return (
    sentence && (
      <div>
        <Sentence of={sentence} />
      </div>
    )
  )
}

/** What was acted on, by name and as a link where this person may read it. */
function Resource({ entry, things }: NamedProps) {
  const thing = things.get(idsOf(entry).subject)
  const kind = entry.resource.slice(0, entry.resource.indexOf('/'))
  if (!thing?.href) return <Foreign className="mono small" text={entry.resource} max={80} />
  return (
    <Link href={thing.href} title={entry.resource} className="cell-link">
      {nouns[kind] ?? kind} <Foreign text={thing.name} max={80} />
    </Link>
  )
}

/** The question and the call of the entry; of a call that a gate stopped, who approved it. */
function About({ entry, things }: NamedProps) {
  const { subject, approvalId, callId } = idsOf(entry)
  const call = callId === null ? undefined : things.get(callId)
  const isKnown = approvalId !== null && approvalId !== subject && things.has(approvalId)
  const question = isKnown ? null : (call?.approval ?? null)
  if (!isKnown && !call?.href && !question) return null
  return (
    <div className="small row">
      {isKnown && (
        <Link href={`/approvals/${approvalId}`} className="cell-link">
          {t('open the request')}
        </Link>
      )}
      {question && (
        <Link href={`/approvals/${question.id}`} className="cell-link">
          {wordsOf(question.status)}
          {question.decision && (
            <>
              {' '}
              <T
                text="by {who} {way}"
                who={<Foreign text={question.decision.byName} max={60} />}
                way={wayOf(question.decision.via)}
              />
            </>
          )}
        </Link>
      )}
      {call?.href && (
        <Link href={call.href} className="cell-link">
          {t('open the call')}
        </Link>
      )}
    </div>
  )
}
