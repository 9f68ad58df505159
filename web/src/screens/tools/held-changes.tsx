/** What the server of a tool says now that does not count until a person accepts it. */
import { command } from '../../api/command.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Foreign } from '../../parts/text.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t, T } from '../../texts/texts.tsx'
import type { ToolDetail } from './documents.ts'

const acceptMutation = command('acceptUpstreamChange')

interface Props {
  tool: ToolDetail
  reload(): void
}

/** One entry for each action with such a change; nothing without any. */
export function HeldChanges({ tool, reload }: Props) {
  const accept = useAction(acceptMutation)
  if (tool.__typename !== 'McpTool') return null
  const changed = tool.actions.flatMap(({ action, heldChange }) =>
    heldChange ? [{ action, heldChange }] : [],
  )
  if (changed.length === 0) return null
  return (
    <section className="failure stack" aria-label={t('This server changed its definition')}>
      <h2>{t('This server changed its definition')}</h2>
      <p>{t('It does not count until somebody who may change gates accepts it.')}</p>
      <ul className="stack">
        {changed.map(({ action, heldChange: { changes, hash } }) => (
          <li key={action} className="stack">
            <span className="mono">
              <Foreign text={action} max={80} />
            </span>
            {changes.map((one) => (
              <Foreign key={one} text={one} max={600} />
            ))}
            <div className="row">
              <Confirm
                needs="gates:Update"
                word={t('Accept')}
                question={t('Accept the new definition of {action}?', { action })}
                isBusy={accept.isRunning}
                onConfirm={() =>
                  void accept
                    .act({ input: { toolId: tool.id, action, hash } }, t('The change is in effect.'))
                    .then(reload)
                }
              >
                <p>
                  <T text="Its gate, its masks and its presets are judged by what the server says now." />
                </p>
              </Confirm>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
