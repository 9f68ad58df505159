/** Model providers of the project. */
import { useState } from 'react'
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton, Confirm } from '../../parts/confirm.tsx'
import { Choice, Field } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t } from '../../texts/texts.tsx'

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

const setMutation = command('setProvider')

const deleteMutation = command('deleteProvider')

const kinds = [
  { value: 'OPENAI', name: 'OpenAI' },
  { value: 'ANTHROPIC', name: 'Anthropic' },
  { value: 'GOOGLE', name: 'Google Gemini' },
  { value: 'COMPATIBLE', name: t('OpenAI compatible') },
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
  const { act, isRunning } = useAction(testMutation)
  const test = async () => {
    const answer = await act({ input: { name } })
    if (!answer) return
    const { model, ok, milliseconds, error } = answer
    toast(
      error
        ? `${model}: ${error.message} (${error.code})`
        : t('{model} answered in {ms} ms.', { model, ms: milliseconds }),
      { tone: ok ? 'good' : 'bad' },
    )
  }
  return (
    <ActionButton needs="providers:Test" disabled={isRunning} onClick={() => void test()}>
      {t('Test')}
    </ActionButton>
  )
}

export function Providers() {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(providersQuery, {}, (data) => data.providers, {
    eventTypes: ['PROVIDER_SET', 'PROVIDER_DELETED'],
  })
  const { act, isRunning } = useAction(deleteMutation)
  return (
    <>
      <p className="row">
        <span className="mute">{t('An agent names its model as provider/model.')}</span>
        <ActionButton needs="providers:Set" className="primary spread" onClick={() => setOpen(true)}>
          <Icon name="plus" /> {t('New provider')}
        </ActionButton>
      </p>
      <Listing
        pages={pages}
        label={t('Model providers')}
        columns={[t('Name'), t('API'), t('Default model'), t('Secret'), '']}
        empty={{
          title: t('No providers of this project'),
          text: t('Providers whose keys stand in the environment of the server work without an entry here.'),
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
            <td className="mono">{one.secretName ?? <span className="mute">{t('none')}</span>}</td>
            <td className="actions">
              <Test name={one.name} />
              <Confirm
                needs="providers:Delete"
                word={t('Delete')}
                question={t('Delete {name}?', { name: one.name })}
                isBusy={isRunning}
                onConfirm={() =>
                  void act({ input: { name: one.name } }, t('{name} is deleted.', { name: one.name })).then(
                    pages.reload,
                  )
                }
              >
                <p>{t('Agents that name it fail with MODEL_NOT_CONFIGURED from then on.')}</p>
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
  const form = useMutation(setMutation)
  const save = async () => {
    const optional = { ...(baseUrl ? { baseUrl } : {}), ...(secretName ? { secretName } : {}) }
    if (!(await form.send({ input: { name, kind, defaultModel, ...optional } }))) return
    toast(t('{name} is saved.', { name }), { tone: 'good' })
    onClose()
  }
  const issues = form.refused?.issues ?? []
  return (
    <FormDialog
      title={t('New provider')}
      submit={t('Save')}
      isReady={name !== '' && defaultModel !== '' && (kind !== 'COMPATIBLE' || baseUrl !== '')}
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      <Field
        label={t('Name')}
        name="name"
        value={name}
        onChange={setName}
        isRequired
        issues={issues}
        placeholder="openai"
      />
      <Choice label={t('API')} value={kind} options={kinds} onChange={setKind} />
      <Field
        label={t('Base URL')}
        name="baseUrl"
        value={baseUrl}
        onChange={setBaseUrl}
        isRequired={kind === 'COMPATIBLE'}
        issues={issues}
        hint={t("Empty: the vendor's own.")}
      />
      <Field
        label={t('Default model')}
        name="defaultModel"
        value={defaultModel}
        onChange={setDefaultModel}
        isRequired
        issues={issues}
      />
      <Field
        label={t('Name of the secret with its API key')}
        name="secretName"
        value={secretName}
        onChange={setSecretName}
        issues={issues}
        hint={t('Empty: no key.')}
      />
    </FormDialog>
  )
}
