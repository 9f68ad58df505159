/** Secrets: their names and hosts. A value can be set and never be read. */
import { useState } from 'react'
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation } from '../../api/query.ts'
import { ActionButton, Confirm } from '../../parts/confirm.tsx'
import { Field } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t, T } from '../../texts/texts.tsx'

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

const setMutation = command('setSecret')

const deleteMutation = command('deleteSecret')

export function Secrets() {
  const [open, setOpen] = useState<{ name: string; hosts: string } | null>(null)
  const pages = usePages(secretsQuery, {}, (data) => data.secrets, {
    eventTypes: ['SECRET_SET', 'SECRET_DELETED'],
  })
  const { act, isRunning } = useAction(deleteMutation)
  return (
    <>
      <p className="row">
        <span className="mute">
          <T
            text="Used as {form} in URLs and headers of tools."
            form={<code className="mono">{'{{secret:NAME}}'}</code>}
          />
        </span>
        <ActionButton
          needs="secrets:Set"
          className="primary spread"
          onClick={() => setOpen({ name: '', hosts: '' })}
        >
          <Icon name="plus" /> {t('New secret')}
        </ActionButton>
      </p>
      <Listing
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
                onClick={() => setOpen({ name: secret.name, hosts: secret.allowedHosts?.join(', ') ?? '' })}
              >
                {t('Set anew')}
              </ActionButton>
              <Confirm
                needs="secrets:Delete"
                word={t('Delete')}
                question={t('Delete {name}?', { name: secret.name })}
                isBusy={isRunning}
                onConfirm={() =>
                  void act(
                    { input: { name: secret.name } },
                    t('{name} is deleted.', { name: secret.name }),
                  ).then(pages.reload)
                }
              >
                <p>{t('Tools that use it fail from then on.')}</p>
              </Confirm>
            </td>
          </tr>
        )}
      />
      {open && (
        <SetSecret
          {...open}
          onClose={() => {
            setOpen(null)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

function SetSecret({ name: known, hosts: began, onClose }: { name: string; hosts: string; onClose(): void }) {
  const [name, setName] = useState(known)
  const [value, setValue] = useState('')
  const [hosts, setHosts] = useState(began)
  const form = useMutation(setMutation)
  const save = async () => {
    const allowedHosts = hosts.split(/[\s,]+/).filter(Boolean)
    // What is left out stays, also what somebody else has set meanwhile.
    const given = hosts === began ? {} : { allowedHosts: allowedHosts.length > 0 ? allowedHosts : null }
    const input = { name, value, ...given }
    if (!(await form.send({ input }))) return
    toast(t('{name} is set.', { name }), { tone: 'good' })
    onClose()
  }
  const issues = form.refused?.issues ?? []
  return (
    <FormDialog
      title={known === '' ? t('New secret') : t('Set {name} anew', { name: known })}
      submit={t('Save')}
      isReady={name !== '' && value !== ''}
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      {known === '' && (
        <Field
          label={t('Name')}
          name="name"
          value={name}
          onChange={setName}
          isRequired
          issues={issues}
          placeholder="STRIPE_KEY"
        />
      )}
      <Field
        label={t('Value')}
        name="value"
        type="password"
        value={value}
        onChange={setValue}
        isRequired
        issues={issues}
      />
      <Field
        label={t('Hosts that it may be sent to')}
        name="allowedHosts"
        value={hosts}
        onChange={setHosts}
        issues={issues}
        placeholder="api.example.com, *.example.org"
        hint={t('Empty: any host. A secret with hosts is never sent to another one.')}
      />
    </FormDialog>
  )
}
