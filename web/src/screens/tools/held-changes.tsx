/** What the server of a tool says now that does not count until a person accepts it. */
import { command } from '../../api/command.ts'
import { ConfirmAction } from '../../parts/confirm.tsx'
import { Foreign } from '../../parts/text.tsx'
import { t, T } from '../../texts/texts.tsx'
import type { ToolDetail } from './documents.ts'

const acceptMutation = command('acceptUpstreamChange')

interface Props {
  tool: ToolDetail
  reload(): void
}

/** One entry for each action with such a change; nothing without any. */
export function HeldChanges({ tool, reload }: Props) {
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
            <Foreign className="mono" text={action} max={80} />
            {changes.map((one) => (
              <Foreign key={one} text={one} max={600} />
            ))}
            <div className="row">
              <ConfirmAction
                needs="gates:Update"
                word={t('Accept')}
                question={t('Accept the new definition of {action}?', { action })}
                mutation={acceptMutation}
                variables={{ input: { toolId: tool.id, action, hash } }}
                done={t('The change is in effect.')}
                onEnd={reload}
              >
                <p>
                  <T text="Its gate, its masks and its presets are judged by what the server says now." />
                </p>
              </ConfirmAction>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
