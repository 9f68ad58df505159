/** Changes of gates that one person proposed and another must confirm. */
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton } from '../../parts/confirm.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { JsonText } from '../../parts/json-view.tsx'
import { Ago, Countdown } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { useArmed } from '../../parts/question/use-armed.ts'
import { toast } from '../../parts/toasts.tsx'
import { decideChangeMutation, gateChangesQuery, type GateChange } from './gate-documents.ts'
import { useViewer } from '../../api/viewer.ts'
import { t, T } from '../../texts/texts.tsx'

const changeTypes = ['GATE_CHANGE_PROPOSED', 'GATE_CHANGE_DECIDED', 'GATE_CHANGED'] as const

/** The pending changes, of one tool or of all; nothing when there are none or they may not be read. */
export function PendingGateChanges({ targetId }: { targetId?: string }) {
  const pages = usePages(gateChangesQuery, { pending: true, first: 100 }, changeTypes)
  const viewer = useViewer()
  const shown = pages.nodes.filter((one) => targetId === undefined || one.targetId === targetId)
  // A change that comes moves the others: nothing is pressed that has just slid under the pointer.
  const isArmed = useArmed(shown.map(({ id }) => id).join())
  if (shown.length === 0) return null
  return (
    <section className="stack pending-changes" aria-label={t('Gate changes awaiting a second person')}>
      <h2>{t('Waits for a second person')}</h2>
      <ul>
        {shown.map((change) => (
          <li key={change.id}>
            <Change
              change={change}
              isOwn={change.proposer.id === viewer?.id}
              isArmed={isArmed}
              onDone={pages.reload}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

interface Props {
  change: GateChange
  isOwn: boolean
  /** Whether it has stood still for a moment. */
  isArmed: boolean
  onDone(): void
}

function Change({ change, isOwn, isArmed, onDone }: Props) {
  const { send, isRunning, refused } = useMutation(decideChangeMutation)
  const decide = async (verdict: 'APPROVE' | 'REJECT') => {
    if (await send({ input: { id: change.id, verdict } }))
      toast(verdict === 'APPROVE' ? t('The gate is changed.') : t('The change is rejected.'), {
        tone: 'good',
      })
    onDone()
  }
  const { targetId } = change
  const href = targetId.startsWith('tool_') ? `/tools/${targetId}?tab=gate` : `/agents/${targetId}`
  return (
    <article className="stack" aria-label={t('Proposed change')}>
      <p>
        <T
          text={
            isOwn
              ? 'You proposed this {time} for {what}; it expires in {left}.'
              : '{who} proposed this {time} for {what}; it expires in {left}.'
          }
          who={<Principal of={change.proposer} />}
          time={<Ago at={change.createdAt} />}
          what={targetId.startsWith('proj_') ? t('the project') : <Link href={href}>{targetId}</Link>}
          left={<Countdown until={change.expiresAt} />}
        />
      </p>
      {change.note && (
        <blockquote>
          <Foreign text={change.note} max={2000} />
        </blockquote>
      )}
      <JsonText value={change.change} />
      <Refusal message={refused?.message ?? null} />
      <div className="row">
        {isOwn ? (
          <span className="mute small">{t('Another person must confirm it.')}</span>
        ) : (
          <ActionButton
            needs="gates:Update"
            className="approve"
            disabled={!isArmed || isRunning}
            onClick={() => void decide('APPROVE')}
          >
            {t('Confirm')}
          </ActionButton>
        )}
        <ActionButton
          needs="gates:Update"
          className="danger"
          disabled={!isArmed || isRunning}
          onClick={() => void decide('REJECT')}
        >
          {isOwn ? t('Withdraw') : t('Reject')}
        </ActionButton>
      </div>
    </article>
  )
}
