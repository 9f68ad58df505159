/** Secrets: their names and hosts. A value can be set and never be read. */
import { useState } from 'react'
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton, ConfirmAction } from '../../parts/confirm.tsx'
import { fieldsOf, useDraft } from '../../parts/draft-fields.tsx'
import { ListSection } from '../../parts/list-section.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { t, T } from '../../texts/texts.tsx'

const secretRow = graphql(`
  fragment SecretRow on Secret {
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
`)
const secretsQuery = list('secrets', secretRow)

const setMutation = command('setSecret')

const deleteMutation = command('deleteSecret')

export function Secrets() {
  const [reset, setReset] = useState<{ name: string; hosts: string } | null>(null)
  const pages = usePages(secretsQuery, {}, ['SECRET_SET', 'SECRET_DELETED'])
  return (
    <>
      <ListSection
        note={
          <T
            text="Used as {form} in URLs and headers of tools."
            form={<code className="mono">{'{{secret:NAME}}'}</code>}
          />
        }
        create={{
          id: 'secret',
          needs: 'secrets:Set',
          word: t('New secret'),
          render: (onClose) => <SetSecret name="" hosts="" onClose={onClose} />,
        }}
        pages={pages}
        label={t('Secrets')}
        columns={[t('Name'), t('May be sent to'), t('Used by'), t('Set'), '']}
        empty={{
          title: t('No secrets'),
          text: t('Secrets for the services your tools call appear here, without their values.'),
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
                <span className="tone-warn">{t('any host')}</span>
              )}
            </td>
            <td>
              {secret.usedBy.length > 0 ? (
                <Foreign text={secret.usedBy.map((use) => use.name).join(', ')} max={200} />
              ) : (
                <span className="mute">{t('nothing')}</span>
              )}
            </td>
            <td>
              <Ago at={secret.updatedAt} />
            </td>
            <td className="actions">
              <ActionButton
                needs="secrets:Set"
                onClick={() => setReset({ name: secret.name, hosts: secret.allowedHosts?.join(', ') ?? '' })}
              >
                {t('Set anew')}
              </ActionButton>
              <ConfirmAction
                needs="secrets:Delete"
                word={t('Delete')}
                question={t('Delete {name}?', { name: secret.name })}
                mutation={deleteMutation}
                variables={{ input: { name: secret.name } }}
                done={t('{name} is deleted.', { name: secret.name })}
                onEnd={pages.reload}
              >
                <p>{t('Tools that use it fail from then on.')}</p>
              </ConfirmAction>
            </td>
          </tr>
        )}
      />
      {reset && (
        <SetSecret
          {...reset}
          onClose={() => {
            setReset(null)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

const draftNames = { name: t('Name'), value: t('Value'), allowedHosts: t('Hosts that it may be sent to') }

function SetSecret({ name: known, hosts: began, onClose }: { name: string; hosts: string; onClose(): void }) {
  const { draft, set } = useDraft({ name: known, value: '', allowedHosts: began })
  const { name, value } = draft
  const form = useMutation(setMutation)
  const save = async () => {
    const hosts = draft.allowedHosts.split(/[\s,]+/).filter(Boolean)
    // What is left out stays, also what somebody else has set meanwhile.
    const given = draft.allowedHosts === began ? {} : { allowedHosts: hosts.length > 0 ? hosts : null }
    if (!(await form.send({ input: { name, value, ...given } }))) return
    toast(t('{name} is set.', { name }), { tone: 'good' })
    onClose()
  }
  const { text } = fieldsOf(draftNames, { draft, set, issues: form.refused?.issues ?? [] })
  return (
    <FormDialog
      title={known === '' ? t('New secret') : t('Set {name} anew', { name: known })}
      submit={t('Save')}
      isReady={name !== '' && value !== ''}
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      {known === '' && text('name', { isRequired: true, placeholder: 'STRIPE_KEY' })}
      {text('value', { type: 'password', isRequired: true })}
      {text('allowedHosts', {
        placeholder: 'api.example.com, *.example.org',
        hint: t('Empty: any host. A secret with hosts is never sent to another one.'),
      })}
    </FormDialog>
  )
}
