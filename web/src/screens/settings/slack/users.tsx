/** Whose votes the presses of Slack users are. */
import { useState } from 'react'
import { useMutation } from '../../../api/query.ts'
import { useProject } from '../../../api/session.ts'
import type { Viewer } from '../../../api/viewer.ts'
import { ActionButton, ConfirmAction } from '../../../parts/confirm.tsx'
import { Field, Refusal } from '../../../parts/fields.tsx'
import { Form } from '../../../parts/form.tsx'
import { Ago } from '../../../parts/moments.tsx'
import { Principal } from '../../../parts/principal.tsx'
import { toast } from '../../../parts/toasts.tsx'
import { VoterField, nobody } from '../../../parts/voter-field.tsx'
import { linkUserMutation, type Integration, type SlackUser } from './documents.ts'
import { Table } from '../../../parts/table.tsx'
import { unplacedText } from '../../../api/outcome.ts'
import { t } from '../../../texts/texts.tsx'

interface Props {
  integration: Integration
  viewer: Viewer
  reload(): void
}

export function SlackUsers({ integration, viewer, reload }: Props) {
  const { users } = integration
  const mayLink = viewer.may('slack:LinkUser')
  return (
    <section className="stack" aria-label={t('Linked Slack users')}>
      <h2>{t('Slack users')}</h2>
      <p className="mute">
        {t(
          'Whoever has the Slack account votes for the person or key to which it is linked. Presses of others count for nothing.',
        )}
      </p>
      {users.length === 0 ? (
        <p>{t('Nobody is linked yet: requests are posted, but no press counts.')}</p>
      ) : (
        <Table label={t('Links')} columns={[t('Slack user'), t('Votes as'), t('Linked by'), t('Linked'), '']}>
          {users.map((user) => (
            <Row key={user.slackUserId} user={user} mayLink={mayLink} reload={reload} />
          ))}
        </Table>
      )}
      {mayLink && <LinkForm viewer={viewer} reload={reload} />}
    </section>
  )
}

function Row({ user, mayLink, reload }: { user: SlackUser; mayLink: boolean; reload(): void }) {
  const { slackUserId, principal, creator, createdAt } = user
  const projectId = useProject()
  return (
    <tr>
      <td className="mono">{slackUserId}</td>
      <td>
        <Principal of={principal} />
      </td>
      <td>
        <Principal of={creator} />
      </td>
      <td className="nowrap">
        <Ago at={createdAt} />
      </td>
      <td className="actions">
        {mayLink && (
          <ConfirmAction
            needs="slack:LinkUser"
            word={t('Unlink')}
            question={t('Unlink {id}?', { id: slackUserId })}
            mutation={linkUserMutation}
            variables={{ input: { projectId, slackUserId } }}
            done={t('{id} is unlinked.', { id: slackUserId })}
            onEnd={reload}
          >
            <p>{t('Presses of this Slack user no longer count. Votes already cast stay.')}</p>
          </ConfirmAction>
        )}
      </td>
    </tr>
  )
}

function LinkForm({ viewer, reload }: Omit<Props, 'integration'>) {
  const [slackUserId, setSlackUserId] = useState('')
  const [who, setWho] = useState(nobody)
  const projectId = useProject()
  const { send, isRunning, refused, clear } = useMutation(linkUserMutation)
  const link = async () => {
    const input = { projectId, slackUserId: slackUserId.trim(), principalId: who.id }
    const answer = await send({ input })
    reload()
    if (!answer) return
    toast(t('{id} is linked.', { id: input.slackUserId }), { tone: 'good' })
    setSlackUserId('')
    setWho(nobody)
  }
  return (
    <Form className="form-line" label={t('Link a Slack user')} onSubmit={link}>
      <Field
        label={t('Slack user')}
        at="slackUserId"
        value={slackUserId}
        onChange={(next) => {
          setSlackUserId(next)
          clear()
        }}
        isRequired
        issues={refused?.issues ?? []}
        placeholder="U0123456789"
      />
      <VoterField
        label={t('Votes as')}
        value={who}
        viewer={viewer}
        issues={refused?.issues ?? []}
        onChange={(next) => {
          setWho(next)
          clear()
        }}
      />
      <ActionButton
        needs="slack:LinkUser"
        type="submit"
        disabled={isRunning || slackUserId.trim() === '' || who.id === ''}
      >
        {isRunning ? t('Linking …') : t('Link')}
      </ActionButton>
      <div className="form-line-foot">
        <Refusal message={unplacedText(refused)} />
        <p className="small mute">
          {t('In Slack: the profile of the person, “Copy member ID”.')}
          {!viewer.isOperator &&
            ` ${t('Only an operator links others than you and the keys that you made.')}`}
        </p>
      </div>
    </Form>
  )
}
