/** API keys: who has one, what it may do, a new one whose secret is shown once, and the end of one. */
import { useState, type FormEvent } from 'react'
import { graphql } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { faults } from '../../api/faults.ts'
import { refusalOf, type Refused } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyId } from '../../parts/copy-id.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field, Refusal } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'

const keysQuery = graphql(
  `
    query Keys($projectId: ID, $after: String) {
      apiKeys(projectId: $projectId, first: 50, after: $after) {
        nodes {
          id
          name
          prefix
          role
          votes
          createdAt
          lastUsedAt
          expiresAt
          revokedAt
          creator {
            ...PrincipalParts
          }
          agent {
            id
            name
          }
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [principal],
)

const createMutation = graphql(
  `
    mutation CreateKey($input: CreateApiKeyInput!) {
      createApiKey(input: $input) {
        __typename
        ... on CreateApiKeyPayload {
          secret
          apiKey {
            name
          }
        }
        ...Faults
      }
    }
  `,
  [faults],
)

const revokeMutation = graphql(`
  mutation RevokeKey($input: RevokeApiKeyInput!) {
    revokeApiKey(input: $input) {
      __typename
      ... on Error {
        message
      }
    }
  }
`)

export function Keys() {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(keysQuery, {}, (data) => data.apiKeys, {
    hears: ['API_KEY_CREATED', 'API_KEY_REVOKED'],
  })
  const { mutate, isRunning } = useMutation(revokeMutation)
  const revoke = async (id: string, name: string) => {
    const refused = refusalOf((await mutate({ input: { id } }))?.revokeApiKey)
    toast(refused ? refused.message : `The key ${name} has ended, and every key made with it.`, {
      tone: refused ? 'bad' : 'plain',
    })
    pages.reload()
  }
  return (
    <>
      <p className="row">
        <span className="mute">A key is a person or a program. Its secret is shown once.</span>
        <button type="button" className="primary spread" onClick={() => setOpen(true)}>
          <Icon name="plus" /> New key
        </button>
      </p>
      <Listing
        pages={pages}
        label="API keys"
        columns={['Name', 'May', 'Made', 'Last used', 'Ends', '']}
        empty={{ title: 'No keys', text: 'Keys of this project stand here.' }}
        renderRow={(key) => (
          <tr key={key.id}>
            <td>
              <Foreign text={key.name} max={100} />
              <div className="mono small mute">{key.prefix}…</div>
            </td>
            <td>
              {key.agent
                ? `use ${key.agent.name} over MCP`
                : key.role
                  ? key.role.toLowerCase()
                  : 'by its own policy'}
              {!key.votes && <div className="small mute">a program, never votes</div>}
            </td>
            <td>
              <Ago at={key.createdAt} />
              {key.creator && (
                <div className="small">
                  by <Principal of={key.creator} />
                </div>
              )}
            </td>
            <td>{key.lastUsedAt ? <Ago at={key.lastUsedAt} /> : <span className="mute">never</span>}</td>
            <td>
              {key.revokedAt ? (
                <span className="tone-bad">
                  revoked <Ago at={key.revokedAt} />
                </span>
              ) : key.expiresAt ? (
                <Moment at={key.expiresAt} />
              ) : (
                <span className="mute">never</span>
              )}
            </td>
            <td className="actions">
              {!key.revokedAt && (
                <Confirm
                  word="Revoke"
                  question={`Revoke ${key.name}?`}
                  isBusy={isRunning}
                  onConfirm={() => void revoke(key.id, key.name)}
                >
                  <p>
                    Its requests fail at once, its pages and sockets close, and keys made with it end too.
                  </p>
                </Confirm>
              )}
            </td>
          </tr>
        )}
      />
      {isOpen && (
        <NewKey
          onClose={() => {
            setOpen(false)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

const roles = [
  { value: 'VIEWER', name: 'Viewer: reads everything' },
  { value: 'CALLER', name: 'Caller: calls tools and runs agents' },
  { value: 'APPROVER', name: 'Approver: reads and decides' },
  { value: 'DEVELOPER', name: 'Developer: manages tools and agents' },
  { value: 'ADMIN', name: 'Admin: everything in the project' },
] as const
type Role = (typeof roles)[number]['value']

function NewKey({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('VIEWER')
  const [isProgram, setProgram] = useState(false)
  const [refused, setRefused] = useState<Refused | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const { mutate, isRunning, error } = useMutation(createMutation)
  const create = async (event: FormEvent) => {
    event.preventDefault()
    const result = (await mutate({ input: { name, role, votes: !isProgram } }))?.createApiKey
    setRefused(refusalOf(result))
    if (result?.__typename === 'CreateApiKeyPayload') setSecret(result.secret)
  }
  if (secret !== null)
    return (
      <Dialog title="The secret of the key" onClose={onClose}>
        <div className="stack">
          <p>This is shown only once. Whoever has it can do what the key may.</p>
          <CopyId id={secret} label="secret" />
          <button type="button" className="primary" onClick={onClose}>
            I have it
          </button>
        </div>
      </Dialog>
    )
  return (
    <Dialog title="New key" onClose={onClose}>
      <form className="stack" onSubmit={(event) => void create(event)}>
        <Field
          label="Name"
          name="name"
          value={name}
          onChange={setName}
          isRequired
          issues={refused?.issues ?? []}
        />
        <Choice label="Role" value={role} options={roles} onChange={setRole} />
        <label className="row">
          <input type="checkbox" checked={isProgram} onChange={(event) => setProgram(event.target.checked)} />
          The key of a program: it never decides
        </label>
        <Refusal message={refused?.message ?? refusalOf(null, error)?.message ?? null} />
        <button type="submit" className="primary" disabled={isRunning || name.trim() === ''}>
          Create the key
        </button>
      </form>
    </Dialog>
  )
}
