/** Whose votes the presses of Slack users are. */
import { useState, type FormEvent } from 'react'
import { refusalOf, type Refused } from '../../api/outcome.ts'
import { useMutation } from '../../api/query.ts'
import { useProject } from '../../api/session.ts'
import type { Viewer } from '../../api/viewer.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Field, Refusal } from '../../parts/fields.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { toast } from '../../parts/toasts.tsx'
import { VoterField, nobody } from '../../parts/voter-field.tsx'
import { linkUserMutation, type Integration, type SlackUser } from './slack-documents.ts'

interface Props {
  integration: Integration
  viewer: Viewer
  reload(): void
}

export function SlackUsers({ integration, viewer, reload }: Props) {
  const { users } = integration
  const mayLink = viewer.may('slack:LinkUser')
  return (
    <section className="stack" aria-label="Linked Slack users">
      <h2>Slack users</h2>
      <p className="mute">
        Whoever has the Slack account votes for the person or key to which it is linked. Presses of others
        count for nothing.
      </p>
      {users.length === 0 ? (
        <p>Nobody is linked yet: questions are posted, and no press counts.</p>
      ) : (
        <section className="table-scroll" aria-label="Links" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Slack user</th>
                <th scope="col">Votes as</th>
                <th scope="col">Linked by</th>
                <th scope="col">Linked</th>
                <th scope="col">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {users.map((user) => (
                <Row key={user.slackUserId} user={user} mayLink={mayLink} reload={reload} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {mayLink && <LinkForm viewer={viewer} reload={reload} />}
    </section>
  )
}

const failed = 'The server did not answer. Look at the list before trying again.'

function Row({ user, mayLink, reload }: { user: SlackUser; mayLink: boolean; reload(): void }) {
  const { slackUserId, principal, creator, createdAt } = user
  const projectId = useProject()
  const { mutate, isRunning } = useMutation(linkUserMutation)
  const unlink = async () => {
    const result = (await mutate({ input: { projectId, slackUserId } }))?.linkSlackUser
    const refused = refusalOf(result)
    if (!result || refused) toast(refused?.message ?? failed, { tone: 'bad' })
    else toast(`${slackUserId} is unlinked.`)
    reload()
  }
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
          <Confirm
            word="Unlink"
            question={`Unlink ${slackUserId}?`}
            isBusy={isRunning}
            onConfirm={() => void unlink()}
          >
            <p>Presses of this Slack user count for nothing from then on. Votes that were given stay.</p>
          </Confirm>
        )}
      </td>
    </tr>
  )
}

function LinkForm({ viewer, reload }: Omit<Props, 'integration'>) {
  const [slackUserId, setSlackUserId] = useState('')
  const [who, setWho] = useState(nobody)
  const [refused, setRefused] = useState<Refused | null>(null)
  const projectId = useProject()
  const { mutate, isRunning, error, clear } = useMutation(linkUserMutation)
  const link = async (event: FormEvent) => {
    event.preventDefault()
    const input = { projectId, slackUserId: slackUserId.trim(), principalId: who.id }
    const result = (await mutate({ input }))?.linkSlackUser
    const refusal = refusalOf(result)
    setRefused(refusal)
    reload()
    if (!result || refusal) return
    toast(`${input.slackUserId} is linked.`, { tone: 'good' })
    setSlackUserId('')
    setWho(nobody)
  }
  const again = () => {
    setRefused(null)
    clear()
  }
  const shown = refused ?? refusalOf(null, error)
  return (
    <form
      className="form-line"
      aria-label="Link a Slack user"
      noValidate
      onSubmit={(event) => void link(event)}
    >
      <Field
        label="Slack user"
        name="slackUserId"
        value={slackUserId}
        onChange={(next) => {
          setSlackUserId(next)
          again()
        }}
        isRequired
        issues={shown?.issues ?? []}
        placeholder="U0123456789"
      />
      <VoterField
        label="Votes as"
        value={who}
        viewer={viewer}
        issues={shown?.issues ?? []}
        onChange={(next) => {
          setWho(next)
          again()
        }}
      />
      <button type="submit" disabled={isRunning || slackUserId.trim() === '' || who.id === ''}>
        {isRunning ? 'Linking …' : 'Link'}
      </button>
      <div className="form-line-foot">
        <Refusal message={shown && shown.issues.length === 0 ? shown.message : null} />
        <p className="small mute">
          In Slack: the profile of the person, “Copy member ID”.
          {!viewer.isOperator && ' Only an operator links others than you and the keys that you made.'}
        </p>
      </div>
    </form>
  )
}
