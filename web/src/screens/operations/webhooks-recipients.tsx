/** Who is sent a link and a code by way of a webhook, with which they decide without signing in. */
import { useState, type FormEvent } from 'react'
import { refusalOf, type Refused } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { useViewer, type Viewer } from '../../api/viewer.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Field, Refusal } from '../../parts/fields.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { VoterField, nobody } from '../../parts/voter-field.tsx'
import { setRecipientsMutation, type OneWebhook, type Recipient } from './webhooks-documents.ts'

interface Props {
  webhook: OneWebhook
  reload(): void
}

export function Recipients({ webhook, reload }: Props) {
  const viewer = useViewer()
  const { recipients } = webhook
  const maySet = viewer?.may('webhooks:SetRecipients') ?? false
  const set = useSetRecipients(webhook, reload)
  return (
    <section className="stack" aria-label="Recipients">
      <h2>Recipients</h2>
      <p className="mute">
        Each gets a link and a code with every question whose gate allows links, and decides with them without
        signing in. The endpoint sends them on and could vote for them.
      </p>
      {recipients.length === 0 ? (
        <p>Nobody: questions are sent without links.</p>
      ) : (
        <section className="table-scroll" aria-label="List of recipients" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Votes as</th>
                <th scope="col">Address</th>
                <th scope="col">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {recipients.map(({ principal, address }) => (
                <tr key={principal.id}>
                  <td>
                    <Principal of={principal} />
                  </td>
                  <td>
                    <Foreign text={address} max={320} />
                  </td>
                  <td className="actions">
                    {maySet && (
                      <Confirm
                        word="Remove"
                        question={`Send ${principal.name ?? principal.id} no more links?`}
                        isBusy={set.isRunning}
                        onConfirm={() => void set.without(principal.id)}
                      >
                        <p>Links that were sent already decide nothing from then on.</p>
                      </Confirm>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {viewer && maySet && <AddForm webhook={webhook} viewer={viewer} reload={reload} />}
    </section>
  )
}

const inputOf = ({ address, principal }: Recipient) => ({ address, principalId: principal.id })

const failed = 'The server did not answer. Look at the list before trying again.'

function useSetRecipients({ id, version, recipients }: OneWebhook, reload: () => void) {
  const { mutate, isRunning } = useMutation(setRecipientsMutation)
  return {
    isRunning,
    async without(principalId: string) {
      const kept = recipients.map(inputOf).filter((one) => one.principalId !== principalId)
      const input = { webhookId: id, expectedVersion: version, recipients: kept }
      const result = (await mutate({ input }))?.setWebhookRecipients
      const refused = refusalOf(result)
      if (!result || refused) toast(refused?.message ?? failed, { tone: 'bad' })
      else toast('No more links are sent there.')
      reload()
    },
  }
}

function AddForm({ webhook, viewer, reload }: Props & { viewer: Viewer }) {
  const [address, setAddress] = useState('')
  const [who, setWho] = useState(nobody)
  const [refused, setRefused] = useState<Refused | null>(null)
  const { mutate, isRunning, error, clear } = useMutation(setRecipientsMutation)
  const known = webhook.recipients.map(inputOf)
  const add = async (event: FormEvent) => {
    event.preventDefault()
    const recipients = [...known, { principalId: who.id, address: address.trim() }]
    const input = { webhookId: webhook.id, expectedVersion: webhook.version, recipients }
    const result = (await mutate({ input }))?.setWebhookRecipients
    const refusal = refusalOf(result)
    setRefused(refusal)
    reload()
    if (!result || refusal) return
    toast('Links are sent there from now on.', { tone: 'good' })
    setAddress('')
    setWho(nobody)
  }
  const again = () => {
    setRefused(null)
    clear()
  }
  const shown = refused ?? refusalOf(null, error)
  const placed = shown?.issues.filter(({ path }) => ['principalId', 'address'].includes(path.at(-1) ?? ''))
  // The form has one recipient of the list: its faults stand at its fields, those of others as sentences.
  const own = placed?.filter(({ path }) => path.at(-2) === String(known.length)) ?? []
  const rest = shown?.issues.filter((issue) => !own.includes(issue)) ?? []
  const message =
    rest.length > 0 ? rest.map((one) => `${one.path.slice(1).join('.')} ${one.message}`).join('; ') : null
  return (
    <form className="form-line" aria-label="Add a recipient" noValidate onSubmit={(event) => void add(event)}>
      <VoterField
        label="Votes as"
        value={who}
        viewer={viewer}
        without={new Set(known.map((one) => one.principalId))}
        issues={own}
        onChange={(next) => {
          setWho(next)
          again()
        }}
      />
      <Field
        label="Address"
        name="address"
        value={address}
        onChange={(next) => {
          setAddress(next)
          again()
        }}
        isRequired
        issues={own
          .filter(({ path }) => path.at(-1) === 'address')
          .map((one) => ({ ...one, path: ['address'] }))}
        placeholder="ada@example.com"
      />
      <button type="submit" disabled={isRunning || address.trim() === '' || who.id === ''}>
        {isRunning ? 'Adding …' : 'Add'}
      </button>
      <div className="form-line-foot">
        <Refusal message={message ?? (shown && shown.issues.length === 0 ? shown.message : null)} />
        <p className="small mute">
          The address is for the program at the endpoint, such as an e-mail address.
          {!viewer.isOperator && ' Only an operator names others than you and the keys that you made.'}
        </p>
      </div>
    </form>
  )
}
