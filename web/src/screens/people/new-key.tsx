/** A new key: for a program its secret, shown once; for a person an invitation, or the secret too. */
import { useState } from 'react'
import { serverNow } from '../../api/clock.ts'
import { graphql } from '../../api/document.ts'
import { command } from '../../api/command.ts'
import { useMutation } from '../../api/query.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { Choice, Field } from '../../parts/fields.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { endOfKey, keyEnds, keyTasks, tasksOf, type KeyEnd, type TaskName } from './key-tasks.ts'
import { t, T } from '../../texts/texts.tsx'

const createAnswer = graphql(`
  fragment CreateKeyAnswer on ApiKeyPayload {
    secret
  }
`)
const createMutation = command('createApiKey', createAnswer)

const inviteAnswer = graphql(`
  fragment CreateInvitationAnswer on CreateInvitationPayload {
    link
    oneTimeCode
  }
`)
const inviteMutation = command('createInvitation', inviteAnswer)

type Made = { secret: string | null } | { link: string; oneTimeCode: string }

export function NewKey({ arePeople, onClose }: { arePeople: boolean; onClose(): void }) {
  const [name, setName] = useState('')
  const [task, setTask] = useState<TaskName>(tasksOf(arePeople)[0]!.value)
  const [end, setEnd] = useState<KeyEnd>('90')
  const [isInvited, setInvited] = useState(true)
  const [made, setMade] = useState<Made | null>(null)
  const key = useMutation(createMutation)
  const invitation = useMutation(inviteMutation)
  const { role, isPerson } = keyTasks.find((one) => one.value === task)!
  const invites = isPerson && isInvited
  const create = async () => {
    const input = { name, role, expiresAt: endOfKey(end, serverNow()) }
    setMade(
      invites ? await invitation.send({ input }) : await key.send({ input: { ...input, votes: isPerson } }),
    )
  }
  if (made && 'link' in made) return <Invited name={name} {...made} onClose={onClose} />
  if (made)
    return (
      <SecretOnce title={t('The secret of the key')} secret={made.secret ?? ''} onClose={onClose}>
        {t('Whoever has it can do what the key may.')}
      </SecretOnce>
    )
  const form = invites ? invitation : key
  return (
    <FormDialog
      title={arePeople ? t('Invite a person') : t('New key')}
      submit={invites ? t('Create the invitation') : t('Create the key')}
      isReady={name.trim() !== ''}
      form={form}
      onSubmit={create}
      onClose={onClose}
    >
      <Choice
        label={t('Who or what is it for?')}
        value={task}
        options={tasksOf(arePeople)}
        onChange={setTask}
      />
      <Field
        label={t('Name')}
        at="name"
        value={name}
        onChange={setName}
        hint={isPerson ? t('Shown with decisions.') : t('A program never decides.')}
        isRequired
        issues={form.refused?.issues ?? []}
      />
      <Choice label={t('Expires')} value={end} options={keyEnds} onChange={setEnd} />
      {isPerson && (
        <label className="row">
          <input type="checkbox" checked={isInvited} onChange={(event) => setInvited(event.target.checked)} />
          {t('Create a link, so that only this person ever sees the secret')}
        </label>
      )}
    </FormDialog>
  )
}

interface InvitedProps {
  name: string
  link: string
  oneTimeCode: string
  onClose(): void
}

function Invited({ name, link, oneTimeCode, onClose }: InvitedProps) {
  return (
    <SecretOnce
      title={t('The invitation of {name}', { name })}
      secret={link}
      label={t('link')}
      note={
        <p>
          <T
            text="The code, best sent another way: {code}"
            code={<CopyId id={oneTimeCode} label={t('code')} />}
          />
        </p>
      }
      onClose={onClose}
    >
      {t('The link works once, for seven days. Anyone with the link and the code has the key.')}
    </SecretOnce>
  )
}
