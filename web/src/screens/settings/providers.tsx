/** Model providers of the project. */
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton, ConfirmAction } from '../../parts/confirm.tsx'
import { fieldsOf, useDraft } from '../../parts/draft-fields.tsx'
import { ListSection } from '../../parts/list-section.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t } from '../../texts/texts.tsx'

const providerRow = graphql(`
  fragment ProviderRow on Provider {
    id
    name
    kind
    baseUrl
    defaultModel
    secretName
  }
`)
const providersQuery = list('providers', providerRow)

const setMutation = command('setProvider')

const deleteMutation = command('deleteProvider')

const kinds = [
  { value: 'OPENAI', name: 'OpenAI' },
  { value: 'ANTHROPIC', name: 'Anthropic' },
  { value: 'GOOGLE', name: 'Google Gemini' },
  { value: 'COMPATIBLE', name: t('OpenAI compatible') },
] as const
type Kind = (typeof kinds)[number]['value']

const testAnswer = graphql(`
  fragment TestProviderAnswer on TestProviderPayload {
    model
    ok
    milliseconds
    error {
      code
      message
    }
  }
`)
const testMutation = command('testProvider', testAnswer)

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
  const pages = usePages(providersQuery, {}, ['PROVIDER_SET', 'PROVIDER_DELETED'])
  return (
    <ListSection
      note={t('An agent names its model as provider/model.')}
      create={{
        id: 'provider',
        needs: 'providers:Set',
        word: t('New provider'),
        render: (onClose) => <NewProvider onClose={onClose} />,
      }}
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
            <ConfirmAction
              needs="providers:Delete"
              word={t('Delete')}
              question={t('Delete {name}?', { name: one.name })}
              mutation={deleteMutation}
              variables={{ input: { name: one.name } }}
              done={t('{name} is deleted.', { name: one.name })}
              onEnd={pages.reload}
            >
              <p>{t('Agents that name it fail with MODEL_NOT_CONFIGURED from then on.')}</p>
            </ConfirmAction>
          </td>
        </tr>
      )}
    />
  )
}

const draftNames = {
  name: t('Name'),
  kind: t('API'),
  baseUrl: t('Base URL'),
  defaultModel: t('Default model'),
  secretName: t('Name of the secret with its API key'),
}

const emptyDraft = { name: '', kind: 'OPENAI' as Kind, baseUrl: '', defaultModel: '', secretName: '' }

function NewProvider({ onClose }: { onClose(): void }) {
  const { draft, set } = useDraft(emptyDraft)
  const form = useMutation(setMutation)
  const save = async () => {
    const { baseUrl, secretName, ...required } = draft
    const optional = { ...(baseUrl ? { baseUrl } : {}), ...(secretName ? { secretName } : {}) }
    if (!(await form.send({ input: { ...required, ...optional } }))) return
    toast(t('{name} is saved.', { name: draft.name }), { tone: 'good' })
    onClose()
  }
  const { text, choice } = fieldsOf(draftNames, { draft, set, issues: form.refused?.issues ?? [] })
  const isCompatible = draft.kind === 'COMPATIBLE'
  return (
    <FormDialog
      title={t('New provider')}
      submit={t('Save')}
      isReady={draft.name !== '' && draft.defaultModel !== '' && (!isCompatible || draft.baseUrl !== '')}
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      {text('name', { isRequired: true, placeholder: 'openai' })}
      {choice('kind', kinds)}
      {text('baseUrl', { isRequired: isCompatible, hint: t("Empty: the vendor's own.") })}
      {text('defaultModel', { isRequired: true })}
      {text('secretName', { hint: t('Empty: no key.') })}
    </FormDialog>
  )
}
