/** An upstream from the server.json of an MCP registry: it serves nothing until a person names what it may. */
import { useState } from 'react'
import { createPortal } from 'react-dom'
import { useLocation } from 'wouter'
import { command } from '../../../api/command.ts'
import { graphql } from '../../../api/document.ts'
import type { Issue, MutationRefusal } from '../../../api/outcome.ts'
import { useMutation } from '../../../api/query.ts'
import { useProject } from '../../../api/session.ts'
import { Check, LongField } from '../../../parts/fields.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { t } from '../../../texts/texts.tsx'
import { DocumentFields } from './document-fields.tsx'
import { objectFrom } from '../tool-config.ts'

const answer = graphql(`
  fragment ImportServerAnswer on ServerImportPayload {
    tool {
      id
    }
    changes {
      path
    }
  }
`)
const importServer = command('importServer', answer)

export function FromServerJson() {
  const [isOpen, setOpen] = useState(false)
  return (
    <p className="row">
      <button type="button" onClick={() => setOpen(true)}>
        {t('Import a server.json')}
      </button>
      {isOpen && createPortal(<ImportDialog onClose={() => setOpen(false)} />, document.body)}
    </p>
  )
}

function ImportDialog({ onClose }: { onClose(): void }) {
  const projectId = useProject()
  const [, go] = useLocation()
  const mutation = useMutation(importServer)
  const [text, setText] = useState('')
  const [values, setValues] = useState('')
  const [replace, setReplace] = useState(false)
  const [refused, setRefused] = useState<MutationRefusal | null>(null)
  const send = async () => {
    const issues: Issue[] = []
    const server = objectFrom(text, ['server'], issues)
    const given = values.trim() === '' ? {} : objectFrom(values, ['values'], issues)
    setRefused(issues.length > 0 ? { message: '', issues } : null)
    if (!server || !given) return
    const made = await mutation.send({ input: { projectId, server, values: given, replace } })
    if (!made) return
    const { tool, changes } = made
    // What serves nothing yet is read there, and allowed.
    if (changes.length > 0) go(`/tools/${tool.id}?tab=versions`)
    else go(`/tools/${tool.id}?tab=definition`)
  }
  return (
    <FormDialog
      title={t('Import a server.json')}
      submit={t('Import')}
      isReady={text.trim() !== ''}
      form={{ isRunning: mutation.isRunning, refused: refused ?? mutation.refused }}
      textOf={wordsOf}
      onSubmit={send}
      onClose={onClose}
      isWide
    >
      <DocumentFields value={text} onChange={setText} onFile={setText} rows={8} />
      <LongField
        label={t('What the server asks for')}
        value={values}
        onChange={setValues}
        rows={2}
        isMono
        placeholder={'{ "X-API-Key": "{{secret:NOTES_KEY}}" }'}
      />
      <Check
        label={t('Replace an earlier version')}
        value={replace}
        onChange={setReplace}
        hint={t('You name again what it serves; gates and logins stay.')}
      />
    </FormDialog>
  )
}

/** What was refused, with the places that are at fault. */
function wordsOf(refused: MutationRefusal | null): string | null {
  if (!refused) return null
  const faults = refused.issues.map(({ path, message }) => `${path.slice(1).join('.')}: ${message}`)
  return faults.length > 0 ? faults.join('; ') : refused.message
}
