/** Model providers of the project. */
import { useState, type FormEvent } from 'react'
import { graphql } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'
import { refusalOf, type Refused } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field, Refusal } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'

const providersQuery = graphql(`
  query Providers($projectId: ID, $after: String) {
    providers(projectId: $projectId, first: 50, after: $after) {
      nodes {
        id
        name
        kind
        baseUrl
        defaultModel
        secretName
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
    mutation SetProvider($input: SetProviderInput!) {
      setProvider(input: $input) {
        __typename
        ...Faults
      }
    }
  `,
  [faults],
)

const deleteMutation = graphql(`
  mutation DeleteProvider($input: DeleteProviderInput!) {
    deleteProvider(input: $input) {
      __typename
      ... on Error {
        message
      }
    }
  }
`)

const kinds = [
  { value: 'OPENAI', name: 'OpenAI' },
  { value: 'ANTHROPIC', name: 'Anthropic' },
  { value: 'GOOGLE', name: 'Google Gemini' },
  { value: 'COMPATIBLE', name: 'OpenAI compatible' },
] as const
type Kind = (typeof kinds)[number]['value']

const testMutation = graphql(
  `
    mutation TestProvider($input: TestProviderInput!) {
      testProvider(input: $input) {
        __typename
        ... on TestProviderPayload {
          model
          ok
          milliseconds
          error {
            code
            message
          }
        }
        ...Faults
      }
    }
  `,
  [faults],
)

/** Asks the provider's model for a few tokens, and says what came. */
function Test({ name }: { name: string }) {
  const { mutate, isRunning } = useMutation(testMutation)
  const test = async () => {
    const result = (await mutate({ input: { name } }))?.testProvider
    const refusal = refusalOf(result)
    if (refusal) toast(refusal.message, { tone: 'bad' })
    else if (result?.__typename === 'TestProviderPayload')
      toast(
        result.error
          ? `${result.model}: ${result.error.message} (${result.error.code})`
          : `${result.model} has answered within ${result.milliseconds} ms.`,
        { tone: result.ok ? 'good' : 'bad' },
      )
  }
  return (
    <button type="button" disabled={isRunning} onClick={() => void test()}>
      Test
    </button>
  )
}

export function Providers() {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(providersQuery, {}, (data) => data.providers, {
    hears: ['PROVIDER_SET', 'PROVIDER_DELETED'],
  })
  const { mutate, isRunning } = useMutation(deleteMutation)
  const remove = async (name: string) => {
    const refused = refusalOf((await mutate({ input: { name } }))?.deleteProvider)
    toast(refused ? refused.message : `${name} is deleted.`, { tone: refused ? 'bad' : 'plain' })
    pages.reload()
  }
  return (
    <>
      <p className="row">
        <span className="mute">An agent names its model as provider/model.</span>
        <button type="button" className="primary spread" onClick={() => setOpen(true)}>
          <Icon name="plus" /> New provider
        </button>
      </p>
      <Listing
        pages={pages}
        label="Model providers"
        columns={['Name', 'API', 'Default model', 'Secret', '']}
        empty={{
          title: 'No providers of this project',
          text: 'Providers whose keys stand in the environment of the server work without an entry here.',
        }}
        renderRow={(one) => (
          <tr key={one.id}>
            <td>
              <Foreign text={one.name} max={100} />
            </td>
            <td>
              {kinds.find(({ value }) => value === one.kind)?.name}
              {one.baseUrl && (
                <div className="mono small mute">
                  <Foreign text={one.baseUrl} max={120} />
                </div>
              )}
            </td>
            <td className="mono">
              <Foreign text={one.defaultModel} max={100} />
            </td>
            <td className="mono">{one.secretName ?? <span className="mute">none</span>}</td>
            <td className="actions">
              <Test name={one.name} />
              <Confirm
                word="Delete"
                question={`Delete ${one.name}?`}
                isBusy={isRunning}
                onConfirm={() => void remove(one.name)}
              >
                <p>Agents that name it fail with MODEL_NOT_CONFIGURED from then on.</p>
              </Confirm>
            </td>
          </tr>
        )}
      />
      {isOpen && (
        <NewProvider
          onClose={() => {
            setOpen(false)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

function NewProvider({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('OPENAI')
  const [baseUrl, setBaseUrl] = useState('')
  const [defaultModel, setDefaultModel] = useState('')
  const [secretName, setSecretName] = useState('')
  const [refused, setRefused] = useState<Refused | null>(null)
  const { mutate, isRunning, error } = useMutation(setMutation)
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const optional = { ...(baseUrl ? { baseUrl } : {}), ...(secretName ? { secretName } : {}) }
    const result = (await mutate({ input: { name, kind, defaultModel, ...optional } }))?.setProvider
    const refusal = refusalOf(result)
    setRefused(refusal)
    if (!result || refusal) return
    toast(`${name} is saved.`, { tone: 'good' })
    onClose()
  }
  const issues = refused?.issues ?? []
  return (
    <Dialog title="New provider" onClose={onClose}>
      <form className="stack" onSubmit={(event) => void save(event)}>
        <Field
          label="Name"
          name="name"
          value={name}
          onChange={setName}
          isRequired
          issues={issues}
          placeholder="openai"
        />
        <Choice label="API" value={kind} options={kinds} onChange={setKind} />
        <Field
          label="Base URL"
          name="baseUrl"
          value={baseUrl}
          onChange={setBaseUrl}
          isRequired={kind === 'COMPATIBLE'}
          issues={issues}
          hint="Empty: the vendor's own."
        />
        <Field
          label="Default model"
          name="defaultModel"
          value={defaultModel}
          onChange={setDefaultModel}
          isRequired
          issues={issues}
        />
        <Field
          label="Name of the secret with its API key"
          name="secretName"
          value={secretName}
          onChange={setSecretName}
          issues={issues}
          hint="Empty: no key."
        />
        <Refusal message={refused?.message ?? refusalOf(null, error)?.message ?? null} />
        <button type="submit" className="primary" disabled={isRunning || name === '' || defaultModel === ''}>
          Save
        </button>
      </form>
    </Dialog>
  )
}
