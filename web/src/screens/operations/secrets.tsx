/** Secrets: their names and hosts. A value can be set and never be read. */
import { useState, type FormEvent } from 'react'
import { graphql } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'
import { refusalOf, type Refused } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Refusal } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'

const secretsQuery = graphql(`
  query Secrets($projectId: ID, $after: String) {
    secrets(projectId: $projectId, first: 50, after: $after) {
      nodes {
        id
        name
        allowedHosts
        usedBy {
          kind
          id
          name
        }
        updatedAt
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

const setMutation = graphql(
  `
    mutation SetSecret($input: SetSecretInput!) {
      setSecret(input: $input) {
        __typename
        ...Faults
      }
    }
  `,
  [faults],
)

const deleteMutation = graphql(`
  mutation DeleteSecret($input: DeleteSecretInput!) {
    deleteSecret(input: $input) {
      __typename
      ... on Error {
        message
      }
    }
  }
`)

export function Secrets() {
  const [open, setOpen] = useState<{ name: string } | null>(null)
  const pages = usePages(secretsQuery, {}, (data) => data.secrets, {
    hears: ['SECRET_SET', 'SECRET_DELETED'],
  })
  const { mutate, isRunning } = useMutation(deleteMutation)
  const remove = async (name: string) => {
    const refused = refusalOf((await mutate({ input: { name } }))?.deleteSecret)
    toast(refused ? refused.message : `${name} is deleted.`, { tone: refused ? 'bad' : 'plain' })
    pages.reload()
  }
  return (
    <>
      <p className="row">
        <span className="mute">
          Used as <code className="mono">{'{{secret:NAME}}'}</code> in URLs and headers of tools.
        </span>
        <button type="button" className="primary spread" onClick={() => setOpen({ name: '' })}>
          <Icon name="plus" /> New secret
        </button>
      </p>
      <Listing
        pages={pages}
        label="Secrets"
        columns={['Name', 'May be sent to', 'Used by', 'Set', '']}
        empty={{
          title: 'No secrets',
          text: 'Keys of the services that your tools call stand here, without their values.',
        }}
        renderRow={(secret) => (
          <tr key={secret.id}>
            <td className="mono">
              <Foreign text={secret.name} max={100} />
            </td>
            <td>
              {secret.allowedHosts ? (
                <Foreign text={secret.allowedHosts.join(', ')} max={200} />
              ) : (
                <span className="tone-warn">any host</span>
              )}
            </td>
            <td>
              {secret.usedBy.length > 0 ? (
                <Foreign text={secret.usedBy.map((use) => use.name).join(', ')} max={200} />
              ) : (
                <span className="mute">nothing</span>
              )}
            </td>
            <td>
              <Ago at={secret.updatedAt} />
            </td>
            <td className="actions">
              <button type="button" onClick={() => setOpen({ name: secret.name })}>
                Set anew
              </button>
              <Confirm
                word="Delete"
                question={`Delete ${secret.name}?`}
                isBusy={isRunning}
                onConfirm={() => void remove(secret.name)}
              >
                <p>Tools that use it fail from then on.</p>
              </Confirm>
            </td>
          </tr>
        )}
      />
      {open && (
        <SetSecret
          name={open.name}
          onClose={() => {
            setOpen(null)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

function SetSecret({ name: known, onClose }: { name: string; onClose(): void }) {
  const [name, setName] = useState(known)
  const [value, setValue] = useState('')
  const [hosts, setHosts] = useState('')
  const [refused, setRefused] = useState<Refused | null>(null)
  const { mutate, isRunning, error } = useMutation(setMutation)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const allowedHosts = hosts.split(/[\s,]+/).filter(Boolean)
    const result = (
      await mutate({ input: { name, value, ...(allowedHosts.length > 0 ? { allowedHosts } : {}) } })
    )?.setSecret
    const refusal = refusalOf(result)
    setRefused(refusal)
    if (!result || refusal) return
    toast(`${name} is set.`, { tone: 'good' })
    onClose()
  }
  const issues = refused?.issues ?? []
  return (
    <Dialog title={known === '' ? 'New secret' : `Set ${known} anew`} onClose={onClose}>
      <form className="stack" onSubmit={(event) => void save(event)}>
        {known === '' && (
          <Field
            label="Name"
            name="name"
            value={name}
            onChange={setName}
            isRequired
            issues={issues}
            placeholder="STRIPE_KEY"
          />
        )}
        <Field
          label="Value"
          name="value"
          type="password"
          value={value}
          onChange={setValue}
          isRequired
          issues={issues}
        />
        <Field
          label="Hosts that it may be sent to"
          name="allowedHosts"
          value={hosts}
          onChange={setHosts}
          issues={issues}
          placeholder="api.example.com, *.example.org"
          hint="Empty: any host. A secret with hosts never leaves for another one."
        />
        <Refusal message={refused?.message ?? refusalOf(null, error)?.message ?? null} />
        <button type="submit" className="primary" disabled={isRunning || name === '' || value === ''}>
          Save
        </button>
      </form>
    </Dialog>
  )
}
