/** API keys: who has one, what it may do, a new one whose secret is shown once, and the end of one. */
import { useState } from 'react'
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { faults } from '../../api/faults.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Choice, Field } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { useAction } from '../../parts/use-action.ts'

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

const revokeMutation = command('revokeApiKey')

export function Keys() {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(keysQuery, {}, (data) => data.apiKeys, {
    eventTypes: ['API_KEY_CREATED', 'API_KEY_REVOKED'],
  })
  const { act, isRunning } = useAction(revokeMutation)
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
                  onConfirm={() =>
                    void act(
                      { input: { id: key.id } },
                      `The key ${key.name} has ended, and every key made with it.`,
                    ).then(pages.reload)
                  }
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
  const [secret, setSecret] = useState<string | null>(null)
  const form = useMutation(createMutation)
  const create = async () => {
    const made = await form.send({ input: { name, role, votes: !isProgram } })
    if (made) setSecret(made.secret)
  }
  if (secret !== null)
    return (
      <SecretOnce title="The secret of the key" secret={secret} onClose={onClose}>
        Whoever has it can do what the key may.
      </SecretOnce>
    )
  return (
    <FormDialog
      title="New key"
      submit="Create the key"
      isReady={name.trim() !== ''}
      form={form}
      onSubmit={create}
      onClose={onClose}
    >
      <Field
        label="Name"
        name="name"
        value={name}
        onChange={setName}
        isRequired
        issues={form.refused?.issues ?? []}
      />
      <Choice label="Role" value={role} options={roles} onChange={setRole} />
      <label className="row">
        <input type="checkbox" checked={isProgram} onChange={(event) => setProgram(event.target.checked)} />
        The key of a program: it never decides
      </label>
    </FormDialog>
  )
}
