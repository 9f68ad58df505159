/** What must be true before a press in Slack counts, each step verified; a test message verifies most of them. */
import { useState } from 'react'
import { useProject } from '../../../api/session.ts'
import { ActionButton } from '../../../parts/confirm.tsx'
import { Icon } from '../../../parts/icons.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { useAction } from '../../../parts/use-action.ts'
import { testSlackMutation, type Integration, type SlackTrial } from './documents.ts'
import { stepsOf, type SlackStep } from './steps.ts'
import { t, T } from '../../../texts/texts.tsx'

const looks: Record<SlackStep['state'], { icon: 'check' | 'cross' | 'clock'; tone: string; word: string }> = {
  done: { icon: 'check', tone: 'tone-good', word: `${t('done:')} ` },
  failed: { icon: 'cross', tone: 'tone-bad', word: `${t('failed:')} ` },
  open: { icon: 'clock', tone: 'mute', word: `${t('to do:')} ` },
}

export function SlackChecklist({ integration, mayTest }: { integration: Integration; mayTest: boolean }) {
  const [trial, setTrial] = useState<SlackTrial>(null)
  const projectId = useProject()
  const { act, isRunning } = useAction(testSlackMutation)
  const test = async () => {
    const said = await act({ input: { projectId } })
    if (said) setTrial(said)
  }
  return (
    <section className="stack" aria-label={t('Checklist')}>
      <div className="row">
        <h2>{t('Checklist')}</h2>
        {mayTest && (
          <ActionButton needs="slack:Set" className="spread" disabled={isRunning} onClick={() => void test()}>
            {isRunning ? t('Asking Slack …') : t('Send a test message')}
          </ActionButton>
        )}
      </div>
      <ul className="slack-steps" aria-live="polite">
        {stepsOf(integration, trial).map(({ name, state, about }) => (
          <li key={name}>
            <span className={looks[state].tone}>
              <Icon name={looks[state].icon} />
            </span>
            <div>
              <span className="strong">
                <span className="sr-only">{looks[state].word}</span>
                {name}
              </span>
              <p className="small mute">
                <Foreign text={about} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      {integration.verifiedAt !== null && (
        <p className="small mute">
          <T
            text="The latest press of a test message arrived {time}."
            time={<Ago at={integration.verifiedAt} />}
          />
        </p>
      )}
    </section>
  )
}
