/** The fields of a webhook: where, which events, in which order and with how much in them. */
import type { Issue } from '../../../api/outcome.ts'
import { Check, Field, issuesAt } from '../../../parts/fields.tsx'
import { toggleType, type WebhookDraft } from './draft.ts'
import { typeGroups, typeName } from './event-types.ts'
import { Faults } from '../../../parts/fault.tsx'
import { t } from '../../../texts/texts.tsx'

interface Props {
  draft: WebhookDraft
  onChange(draft: WebhookDraft): void
  issues: readonly Issue[]
}

export function WebhookFields({ draft, onChange, issues }: Props) {
  const set = (part: Partial<WebhookDraft>) => onChange({ ...draft, ...part })
  return (
    <>
      <Field
        label={t('Endpoint: URL or e-mail address')}
        at="url"
        value={draft.url}
        onChange={(url) => set({ url })}
        isRequired
        issues={issues}
        placeholder="https://hooks.example.com/gatehouse"
        hint={t(
          'An address is sent mails with what is asked. Whoever may read webhooks sees a URL: keep credentials out of it.',
        )}
      />
      <Field
        label={t('What it is for')}
        at="description"
        value={draft.description}
        onChange={(description) => set({ description })}
        issues={issues}
      />
      <Types draft={draft} onChange={onChange} issues={issues} />
      <Check
        label={t('One at a time, in the order of the log')}
        value={draft.ordered}
        onChange={(ordered) => set({ ordered })}
        hint={t('An event that fails holds up those after it, until it is accepted or dead.')}
      />
      <Check
        label={t('With the arguments of calls')}
        value={draft.full}
        onChange={(full) => set({ full })}
        hint={t('Values that are writeOnly stay masked.')}
      />
    </>
  )
}

function Types({ draft, onChange, issues }: Props) {
  const chosen = new Set(draft.types)
  return (
    <fieldset className="event-types">
      <legend className="label">
        {draft.isEvery ? t('Events: every one') : t('Events, {count} selected', { count: chosen.size })}
      </legend>
      <Check
        label={t('Every event, and those of later versions')}
        value={draft.isEvery}
        onChange={(isEvery) => onChange({ ...draft, isEvery })}
      />
      {!draft.isEvery && (
        <div className="event-groups" role="group" aria-label={t('Event types')} tabIndex={0}>
          {typeGroups.map(({ name, types }) => (
            <fieldset key={name}>
              <legend className="small mute">{name}</legend>
              {types.map((type) => (
                <label key={type} className="row check">
                  <input
                    type="checkbox"
                    checked={chosen.has(type)}
                    onChange={() => onChange(toggleType(draft, type))}
                  />
                  <span className="mono">{typeName(type)}</span>
                </label>
              ))}
            </fieldset>
          ))}
        </div>
      )}
      <Faults of={issuesAt(issues, ['types'])} />
    </fieldset>
  )
}
