/** The settings of the Slack integration, edited in place; what somebody else changed meanwhile stands beside it. */
import { useState, type FormEvent } from 'react'
import { refusalOf } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import type { Viewer } from '../../api/viewer.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { changedNames } from '../../parts/rebase.ts'
import { toast } from '../../parts/toasts.tsx'
import { setSlackMutation, type Integration } from './slack-documents.ts'
import { draftOfSlack, noSecrets, slackChanges, slackNames, type SlackDraft } from './slack-draft.ts'
import { SlackFields } from './slack-fields.tsx'

interface Props {
  integration: Integration
  viewer: Viewer
  reload(): void
}

export function SlackSettings({ integration, viewer, reload }: Props) {
  const standing = draftOfSlack(integration)
  const [began, setBegan] = useState(standing)
  const [draft, setDraft] = useState(standing)
  const [secrets, setSecrets] = useState(noSecrets)
  const [result, setResult] = useState<object | null>(null)
  const projectId = useProject()
  const { mutate, isRunning, error, clear } = useMutation(setSlackMutation)
  const isEdited = changedNames(began, draft).length > 0
  const changes = slackChanges(began, draft, secrets)
  const isDirty = Object.keys(changes).length > 0
  const isStale = changedNames(began, standing).length > 0
  const start = (from: SlackDraft, next: SlackDraft) => {
    setBegan(from)
    setDraft(next)
    setResult(null)
  }
  if (isStale && !isEdited) start(standing, standing)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const answer = (await mutate({ input: { projectId, ...changes } }))?.setSlackIntegration ?? null
    setResult(answer)
    if (answer && !refusalOf(answer)) {
      start(draft, draft)
      setSecrets(noSecrets)
      toast('The Slack integration is changed.', { tone: 'good' })
    }
    reload()
  }
  const again = () => {
    setResult(null)
    clear()
  }
  const refused = refusalOf(result, error)
  return (
    <section aria-label="Settings">
      <h2>Settings</h2>
      <form className="stack" noValidate onSubmit={(event) => void save(event)}>
        {isStale && isEdited && !isRunning && (
          <Conflict
            base={began}
            mine={draft}
            theirs={standing}
            nameOf={(name) => slackNames[name as keyof SlackDraft]}
            onTake={(next) => start(standing, next)}
          />
        )}
        <SlackFields
          draft={draft}
          secrets={secrets}
          isNew={false}
          isOperator={viewer.isOperator}
          issues={refused?.issues ?? []}
          onDraft={(next) => {
            setDraft(next)
            again()
          }}
          onSecrets={(next) => {
            setSecrets(next)
            again()
          }}
        />
        <Refusal message={refused && refused.issues.length === 0 ? refused.message : null} />
        <div className="row form-foot">
          <button
            type="submit"
            className="primary"
            disabled={isRunning || !isDirty || isStale || draft.channel.trim() === ''}
          >
            {isRunning ? 'Saving …' : 'Save'}
          </button>
          {isDirty && (
            <button
              type="button"
              onClick={() => {
                start(standing, standing)
                setSecrets(noSecrets)
              }}
            >
              Drop the changes
            </button>
          )}
        </div>
      </form>
    </section>
  )
}
