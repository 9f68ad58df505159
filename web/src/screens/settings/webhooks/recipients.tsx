/** Who is sent a link and a code by way of a webhook, with which they decide without signing in. */
import { useState } from 'react'
import { useMutation } from '../../../api/query.ts'
import { useViewer, type Viewer } from '../../../api/viewer.ts'
import { ActionButton, ConfirmAction } from '../../../parts/confirm.tsx'
import { Field, Refusal } from '../../../parts/fields.tsx'
import { Form } from '../../../parts/form.tsx'
import { Principal } from '../../../parts/principal.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { VoterField, nobody } from '../../../parts/voter-field.tsx'
import { setRecipientsMutation, type OneWebhook, type Recipient } from './documents.ts'
import { Table } from '../../../parts/table.tsx'
import { t } from '../../../texts/texts.tsx'

interface Props {
  webhook: OneWebhook
  reload(): void
}

export function Recipients({ webhook, reload }: Props) {
  const viewer = useViewer()
  const { recipients } = webhook
  const maySet = viewer?.may('webhooks:SetRecipients') ?? false
  const without = (principalId: string) => ({
    webhookId: webhook.id,
    expectedVersion: webhook.version,
    recipients: recipients.map(inputOf).filter((one) => one.principalId !== principalId),
  })
  return (
    <section className="stack" aria-label={t('Recipients')}>
      <h2>{t('Recipients')}</h2>
      <p className="mute">
        {t(
          'Each person gets a link and a code for every request whose gate allows links, and decides with them without signing in. The endpoint delivers them and could vote in their place.',
        )}
      </p>
      {recipients.length === 0 ? (
        <p>{t('Nobody: requests are sent without links.')}</p>
      ) : (
        <Table label={t('List of recipients')} columns={[t('Votes as'), t('Address'), '']}>
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
                  <ConfirmAction
                    needs="webhooks:SetRecipients"
                    word={t('Remove')}
                    question={t('Send {name} no more links?', { name: principal.name ?? principal.id })}
                    mutation={setRecipientsMutation}
                    variables={{ input: without(principal.id) }}
                    done={t('No more links are sent there.')}
                    onEnd={reload}
                  >
                    <p>{t('Links already sent stop working.')}</p>
                  </ConfirmAction>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {viewer && maySet && <AddForm webhook={webhook} viewer={viewer} reload={reload} />}
    </section>
  )
}

const inputOf = ({ address, principal }: Recipient) => ({ address, principalId: principal.id })

function AddForm({ webhook, viewer, reload }: Props & { viewer: Viewer }) {
  const [address, setAddress] = useState('')
  const [who, setWho] = useState(nobody)
  const { send, isRunning, refused: shown, clear } = useMutation(setRecipientsMutation)
  const known = webhook.recipients.map(inputOf)
  const add = async () => {
    const recipients = [...known, { principalId: who.id, address: address.trim() }]
    const input = { webhookId: webhook.id, expectedVersion: webhook.version, recipients }
    const answer = await send({ input })
    reload()
    if (!answer) return
    toast(t('Links are sent there from now on.'), { tone: 'good' })
    setAddress('')
    setWho(nobody)
  }
  const placed = shown?.issues.filter(({ path }) => ['principalId', 'address'].includes(path.at(-1) ?? ''))
  // The form has one recipient of the list: its faults stand at its fields, those of others as sentences.
  const own = placed?.filter(({ path }) => path.at(-2) === String(known.length)) ?? []
  const rest = shown?.issues.filter((issue) => !own.includes(issue)) ?? []
  const message =
    rest.length > 0 ? rest.map((one) => `${one.path.slice(1).join('.')} ${one.message}`).join('; ') : null
  return (
    <Form className="form-line" label={t('Add a recipient')} onSubmit={add}>
      <VoterField
        label={t('Votes as')}
        value={who}
        viewer={viewer}
        without={new Set(known.map((one) => one.principalId))}
        issues={own}
        onChange={(next) => {
          setWho(next)
          clear()
        }}
      />
      <Field
        label={t('Address')}
        at="address"
        value={address}
        onChange={(next) => {
          setAddress(next)
          clear()
        }}
        isRequired
        issues={own
          .filter(({ path }) => path.at(-1) === 'address')
          .map((one) => ({ ...one, path: ['input', 'address'] }))}
        placeholder="ada@example.com"
      />
      <ActionButton
        needs="webhooks:SetRecipients"
        type="submit"
        disabled={isRunning || address.trim() === '' || who.id === ''}
      >
        {isRunning ? t('Adding …') : t('Add')}
      </ActionButton>
      <div className="form-line-foot">
        <Refusal message={message ?? (shown && shown.issues.length === 0 ? shown.message : null)} />
        <p className="small mute">
          {t(
            'The address is for the program at the endpoint. If the endpoint is an e-mail address, it is one, too.',
          )}
          {!viewer.isOperator &&
            ` ${t('Only an operator names others than you and the keys that you made.')}`}
        </p>
      </div>
    </Form>
  )
}
