/** The gate of an agent, which adds to the gates of its tools. */
import { useMutation } from '../../api/query.ts'
import { newPolicy, policyOf, type Policy } from '../../parts/gate-draft.ts'
import { gateText } from '../../parts/gate-words.tsx'
import { updateAgentMutation, type AgentDetail } from './documents.ts'
import { GateForm, useGateForm } from '../../parts/gate-form.tsx'
import { t } from '../../texts/texts.tsx'

const noGate: Policy = { ...newPolicy, mode: 'NEVER' }

export function AgentGate({ agent, reload }: { agent: AgentDetail; reload(): void }) {
  const form = useGateForm(agent.gate ? policyOf(agent.gate) : noGate)
  const update = useMutation(updateAgentMutation)
  const { id, version: expectedVersion } = agent
  return (
    <section className="stack fields" aria-label={t('Gate')}>
      <p className="mute">
        {agent.gate ? t('Now: {gate}', { gate: gateText(agent.gate) }) : t('It has none of its own.')}{' '}
        {t('It adds to the gates of its tools, and can only be stricter.')}
      </p>
      <GateForm
        form={form}
        hasOwn={agent.gate !== null}
        schema={null}
        update={update}
        send={(gate) => update.send({ input: { id, expectedVersion, gate } })}
        proposalOf={(gate, note) => ({
          targetId: id,
          ...(gate ? { gate } : { removeGate: true }),
          ...(note.trim() === '' ? {} : { note: note.trim() }),
        })}
        reload={reload}
      />
    </section>
  )
}
