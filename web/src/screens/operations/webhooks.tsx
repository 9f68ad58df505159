/** Webhooks: where events are sent, how far each endpoint is, and a new one whose secret is shown once. */
import './webhooks.css'
import { useState, type FormEvent } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { refusalOf, type Refused } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Refusal } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Foreign } from '../../parts/text.tsx'
import { createWebhookMutation, webhooksQuery, webhookTypes, type WebhookRow } from './webhooks-documents.ts'
import { createInputOf, emptyDraft, isComplete, unplaced } from './webhooks-draft.ts'
import { WebhookFields } from './webhooks-fields.tsx'
import { SigningSecret } from './webhooks-secret.tsx'
import { Progress, WebhookStatus } from './webhooks-status.tsx'
import { typesText } from './webhooks-types.ts'

const kinds = [
  { isCallbacks: false, name: 'Webhooks', href: '/operations/webhooks' },
  { isCallbacks: true, name: 'Callbacks', href: '/operations/webhooks?callbacks=true' },
] as const

export function Webhooks() {
  const [isOpen, setOpen] = useState(false)
  const [params] = useSearchParams()
  const callbacks = params.get('callbacks') === 'true'
  const pages = usePages(webhooksQuery, { callbacks }, (data) => data.webhooks, { hears: webhookTypes })
  return (
    <>
      <div className="row">
        <nav className="segments" aria-label="Kinds of webhooks">
          {kinds.map(({ isCallbacks, name, href }) => (
            <Link
              key={name}
              href={href}
              className="button"
              aria-current={isCallbacks === callbacks ? 'page' : undefined}
            >
              {name}
            </Link>
          ))}
        </nav>
        <span className="mute">
          {callbacks
            ? 'Where the events of one run or call are sent.'
            : 'Each event is sent at least once, signed.'}
        </span>
        <button type="button" className="primary spread" onClick={() => setOpen(true)}>
          <Icon name="plus" /> New webhook
        </button>
      </div>
      <Listing
        pages={pages}
        label={callbacks ? 'Callbacks' : 'Webhooks'}
        columns={['URL', 'Events', 'Status', 'Progress']}
        empty={
          callbacks
            ? {
                title: 'No callbacks',
                text: 'Callbacks of runs and calls stand here until all was sent, and those that failed.',
              }
            : { title: 'No webhooks', text: 'Endpoints that are told when a question waits stand here.' }
        }
        renderRow={(webhook) => <Row key={webhook.id} webhook={webhook} />}
      />
      {isOpen && (
        <NewWebhook
          onClose={() => {
            setOpen(false)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

function Row({ webhook }: { webhook: WebhookRow }) {
  const ways = [webhook.ordered && 'in order', webhook.full && 'with arguments'].filter(Boolean).join(', ')
  return (
    <tr>
      <td className="hook-url">
        <Link href={`/operations/webhooks/${webhook.id}`}>
          <Foreign text={webhook.url} max={100} />
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
  const [refused, setRefused] = useState<Refused | null>(null)
  const [made, setMade] = useState<{ id: string; secret: string } | null>(null)
  const [, go] = useLocation()
  const projectId = useProject()
  const { mutate, isRunning, error } = useMutation(createWebhookMutation)
  const create = async (event: FormEvent) => {
    event.preventDefault()
    const result = (await mutate({ input: { ...createInputOf(draft), projectId } }))?.createWebhook
    setRefused(refusalOf(result))
    if (result?.__typename === 'CreateWebhookPayload')
      setMade({ id: result.webhook.id, secret: result.secret })
  }
  if (made)
    return (
      <SigningSecret
        secret={made.secret}
        isNew
        onClose={() => {
          onClose()
          go(`/operations/webhooks/${made.id}`)
        }}
      />
    )
  return (
    <Dialog title="New webhook" onClose={onClose} wide>
      <form className="stack" noValidate onSubmit={(event) => void create(event)}>
        <WebhookFields
          draft={draft}
          onChange={(next) => {
            setDraft(next)
            setRefused(null)
          }}
          issues={refused?.issues ?? []}
        />
        <Refusal message={unplaced(refused ?? refusalOf(null, error))} />
        <button type="submit" className="primary" disabled={isRunning || !isComplete(draft)}>
          Create the webhook
        </button>
      </form>
    </Dialog>
  )
}
