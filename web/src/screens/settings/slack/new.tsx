/** Before there is a Slack integration: what it is, what has to be done in Slack, and the form that sets it up. */
import { useState } from 'react'
import { useMutation } from '../../../api/query.ts'
import { useProject } from '../../../api/session.ts'
import type { Viewer } from '../../../api/viewer.ts'
import { toast } from '../../../parts/toasts.tsx'
import { setSlackMutation } from './documents.ts'
import { emptySlackDraft, newSlackInput, noSecrets } from './draft.ts'
import { SlackFields } from './fields.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { unplacedText } from '../../../api/outcome.ts'
import { t, T } from '../../../texts/texts.tsx'

interface Props {
  viewer: Viewer
  reload(): void
}

export function NoSlack({ viewer, reload }: Props) {
  const [isOpen, setOpen] = useState(false)
  const maySet = viewer.isOperator && viewer.may('slack:Set')
  return (
    <div className="empty slack-empty">
      <h2>{t('Slack is not set up')}</h2>
      <p>
        {t(
          'Approval requests are posted to a channel, with buttons to approve and reject. A press counts as the vote of the person linked to that Slack user, under the same rules as here.',
        )}
      </p>
      <ol>
        <li>
          <T
            text="Create a Slack app with the bot scope {scope}, install it, and invite it to a channel."
            scope={<code className="mono">chat:write</code>}
          />
        </li>
        <li>{t('Enter its bot token, its signing secret and the channel here.')}</li>
        <li>{t('Turn on the app’s interactivity with the Request URL shown here then.')}</li>
        <li>{t('Link Slack users to people.')}</li>
      </ol>
      {maySet ? (
        <button type="button" className="primary" onClick={() => setOpen(true)}>
          {t('Set up Slack')}
        </button>
      ) : (
        <p>{t('Only an operator’s key may set the bot token and the signing secret: ask an operator.')}</p>
      )}
      <p className="small">
        <T
          text="More in the guide “Verdicts from elsewhere”, {file}."
          file={<code className="mono">docs/guides/verdicts.md</code>}
        />
      </p>
      {isOpen && (
        <NewSlack
          viewer={viewer}
          onClose={() => {
            setOpen(false)
            reload()
          }}
        />
      )}
    </div>
  )
}

function NewSlack({ viewer, onClose }: { viewer: Viewer; onClose(): void }) {
  const [draft, setDraft] = useState(emptySlackDraft)
  const [secrets, setSecrets] = useState(noSecrets)
  const projectId = useProject()
  const form = useMutation(setSlackMutation)
  const save = async () => {
    if (!(await form.send({ input: { projectId, ...newSlackInput(draft, secrets) } }))) return
    toast(t('Slack knows the token. Enter the Request URL in the app next, then send a test message.'), {
      tone: 'good',
    })
    onClose()
  }
  const isComplete = [draft.channel, secrets.botToken, secrets.signingSecret].every(
    (one) => one.trim() !== '',
  )
  return (
    <FormDialog
      title={t('Set up Slack')}
      submit={t('Set up')}
      busy={t('Asking Slack …')}
      isReady={isComplete}
      form={form}
      textOf={unplacedText}
      onSubmit={save}
      onClose={onClose}
    >
      <SlackFields
        draft={draft}
        secrets={secrets}
        isNew
        isOperator={viewer.isOperator}
        issues={form.refused?.issues ?? []}
        onDraft={setDraft}
        onSecrets={setSecrets}
      />
    </FormDialog>
  )
}
