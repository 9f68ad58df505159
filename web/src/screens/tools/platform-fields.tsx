/** The choice of the operations that a platform tool offers. */
import { useState } from 'react'
import type { Issue } from '../../api/outcome.ts'
import { useQuery } from '../../api/query.ts'
import { issuesAt } from '../../parts/fields.tsx'
import { Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { platformActionsQuery } from './documents.ts'
import type { ToolDraft } from './tool-draft.ts'
import { Faults } from '../../parts/fault.tsx'
import { t } from '../../texts/texts.tsx'

type Set = (part: Partial<ToolDraft>) => void

export function PlatformFields({
  draft,
  set,
  issues,
}: {
  draft: ToolDraft
  set: Set
  issues: readonly Issue[]
}) {
  const { data, error, reload } = useQuery(platformActionsQuery, {})
  const [text, setText] = useState('')
  const chosen = new Set(draft.actions)
  if (error) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={6} />
  const toggle = (name: string) =>
    set({
      actions: chosen.has(name) ? draft.actions.filter((one) => one !== name) : [...draft.actions, name],
    })
  return (
    <fieldset className="platform-actions">
      <legend className="label">
        {t('Actions, {count} selected; each runs with the permissions of its caller', { count: chosen.size })}
      </legend>
      <input
        type="search"
        aria-label={t('Filter actions')}
        placeholder={t('Filter actions')}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <ul tabIndex={0} aria-label={t('Actions')}>
        {data.platformActions
          .filter(({ name }) => name.includes(text.trim().toLowerCase()))
          .map(({ name, description }) => (
            <li key={name}>
              <label>
                <input type="checkbox" checked={chosen.has(name)} onChange={() => toggle(name)} />
                <span className="mono">{name}</span>
                <span className="small mute">
                  <Foreign text={description} max={160} />
                </span>
              </label>
            </li>
          ))}
      </ul>
      <Faults of={issuesAt(issues, ['config', 'platform'])} />
    </fieldset>
  )
}
