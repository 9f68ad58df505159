/** Webhooks: where events are sent, how far each endpoint is, and a new one whose secret is shown once. */
import './webhooks.css'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { usePages } from '../../../api/pages.ts'
import { useMutation } from '../../../api/query.ts'
import { useProject } from '../../../api/session.ts'
import { ListSection } from '../../../parts/list-section.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { createWebhookMutation, webhooksQuery, webhookTypes, type WebhookRow } from './documents.ts'
import { createInputOf, emptyDraft, endpointText, isComplete } from './draft.ts'
import { WebhookFields } from './fields.tsx'
import { SigningSecret } from './secret.tsx'
import { Progress, WebhookStatus } from './status.tsx'
import { typesText } from './event-types.ts'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { unplacedText } from '../../../api/outcome.ts'
import { t } from '../../../texts/texts.tsx'

/** Where events of the project are sent. */
export const Webhooks = () => <Endpoints callbacks={false} />

/** Where the events of single runs and calls are sent, as their callers asked for. */
export const Callbacks = () => <Endpoints callbacks />

function Endpoints({ callbacks }: { callbacks: boolean }) {
  const pages = usePages(webhooksQuery, { callbacks }, webhookTypes)
  const list = {
    pages,
    columns: [t('Endpoint'), t('Events'), t('Status'), t('Progress')],
    renderRow: (webhook: WebhookRow) => <Row key={webhook.id} webhook={webhook} />,
  }
  if (callbacks)
    return (
      <ListSection
        {...list}
        note={t('Where the events of one run or call are sent.')}
        label={t('Callbacks')}
        empty={{
          title: t('No callbacks'),
          text: t(
            'Callbacks of runs and calls appear here until they are sent, along with those that failed.',
          ),
        }}
      />
    )
  return (
    <ListSection
      {...list}
      note={t('Each event is sent at least once, signed.')}
      create={{
        id: 'webhook',
        needs: 'webhooks:Create',
        word: t('New webhook'),
        render: (onClose) => <NewWebhook onClose={onClose} />,
      }}
      label={t('Webhooks')}
      empty={{ title: t('No webhooks'), text: t('Endpoints notified of approval requests appear here.') }}
    />
  )
}

function Row({ webhook }: { webhook: WebhookRow }) {
  const ways = [webhook.ordered && t('in order'), webhook.full && t('with arguments')]
    .filter(Boolean)
    .join(', ')
  return (
    <tr>
      <td className="hook-url">
        <Link href={`/settings/webhooks/${webhook.id}`}>
          <Foreign text={endpointText(webhook.url)} max={100} />
        </Link>
        {webhook.description && (
          <div className="small mute">
            <Foreign text={webhook.description} max={120} />
          </div>
        )}
      </td>
      <td>
        {typesText(webhook.types)}
        {ways && <div className="small mute">{ways}</div>}
      </td>
      <td>
        <WebhookStatus webhook={webhook} />
      </td>
      <td className="nowrap">
        <Progress webhook={webhook} />
      </td>
    </tr>
  )
}

function NewWebhook({ onClose }: { onClose(): void }) {
  const [draft, setDraft] = useState(emptyDraft)
  const [made, setMade] = useState<{ id: string; secret: string } | null>(null)
  const [, go] = useLocation()
  const projectId = useProject()
  const form = useMutation(createWebhookMutation)
  const create = async () => {
    const answer = await form.send({ input: { ...createInputOf(draft), projectId } })
    // What is sent by mail is not signed.
    if (answer && !answer.secret) {
      onClose()
      go(`/settings/webhooks/${answer.webhook.id}`)
    }
    if (answer?.secret) setMade({ id: answer.webhook.id, secret: answer.secret })
  }
  if (made)
    return (
      <SigningSecret
        secret={made.secret}
        isNew
        onClose={() => {
          onClose()
          go(`/settings/webhooks/${made.id}`)
        }}
      />
    )
  return (
    <FormDialog
      title={t('New webhook')}
      submit={t('Create the webhook')}
      isReady={isComplete(draft)}
      isWide
      form={form}
      textOf={unplacedText}
      onSubmit={create}
      onClose={onClose}
    >
      <WebhookFields
        draft={draft}
        onChange={(next) => {
          setDraft(next)
          form.clear()
        }}
        issues={form.refused?.issues ?? []}
      />
    </FormDialog>
  )
}
