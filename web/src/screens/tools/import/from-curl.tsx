/** The fields of an http tool from a pasted curl command, with what it could not take over. */
import { useState } from 'react'
import { createPortal } from 'react-dom'
import { writeJson } from '../../../../../src/core/exact-json.ts'
import { useProject } from '../../../api/session.ts'
import { command } from '../../../api/command.ts'
import { Field, LongField } from '../../../parts/fields.tsx'
import { FormDialog } from '../../../parts/form-dialog.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { useAction } from '../../../parts/use-action.ts'
import { textOf } from '../arguments/rows.ts'
import type { ToolDraft } from '../tool-draft.ts'
import type { SecretToStore } from './credentials.ts'
import { toolOfCurl, type CurlTool } from './curl.ts'
import { t, T } from '../../../texts/texts.tsx'

const setSecret = command('setSecret')

interface Props {
  draft: ToolDraft
  set(part: Partial<ToolDraft>): void
}

export function FromCurl({ draft, set }: Props) {
  const [isOpen, setOpen] = useState(false)
  const [told, setTold] = useState<CurlTool | null>(null)
  const take = (tool: CurlTool) => {
    setTold(tool)
    set({
      name: draft.name || tool.name,
      method: tool.method,
      url: tool.url,
      headers: writeJson(tool.headers, 2),
      inputSchema: textOf({ rows: tool.rows, around: {} }),
      argumentFault: '',
    })
  }
  return (
    <div className="stack">
      <p className="row">
        <button type="button" onClick={() => setOpen(true)}>
          {t('Paste a curl command')}
        </button>
        <span className="small mute">{t('It fills in the fields below. Nothing is sent.')}</span>
      </p>
      {told && (told.notes.length > 0 || told.secrets.length > 0) && <Told tool={told} />}
      {isOpen && createPortal(<CurlDialog onTool={take} onClose={() => setOpen(false)} />, document.body)}
    </div>
  )
}

function Told({ tool: { notes, secrets } }: { tool: CurlTool }) {
  return (
    <section className="stack told" aria-label={t('What the command said')}>
      {notes.length > 0 && (
        <ul className="notes tone-warn">
          {notes.map((note) => (
            <li key={note}>
              <Foreign text={note} max={300} />
            </li>
          ))}
        </ul>
      )}
      {secrets.map((secret) => (
        <SecretField key={secret.name} secret={secret} />
      ))}
    </section>
  )
}

/** Stores what the command had as text; until then the tool cannot be saved. */
function SecretField({ secret: { name, host, about } }: { secret: SecretToStore }) {
  const projectId = useProject()
  const [value, setValue] = useState('')
  const [isStored, setStored] = useState(false)
  const { act, isRunning } = useAction(setSecret)
  const store = async () => {
    const input = { projectId, name, value, allowedHosts: [host] }
    if (await act({ input }, t('Saved the secret {name}.', { name }), 'good')) setStored(true)
  }
  return (
    <div className="form-line">
      <p>
        <T
          text="The tool reads {about} from the secret {name}; what you pasted is not kept."
          about={<Foreign text={about} max={120} />}
          name={<span className="mono">{name}</span>}
        />{' '}
        {isStored ? t('The secret is saved.') : t('Save it before you create the tool.')}
      </p>
      {!isStored && (
        <>
          <Field label={t('Value of {name}', { name })} type="password" value={value} onChange={setValue} />
          <button type="button" disabled={value === '' || isRunning} onClick={() => void store()}>
            {t('Save the secret')}
          </button>
        </>
      )}
    </div>
  )
}

function CurlDialog({ onTool, onClose }: { onTool(tool: CurlTool): void; onClose(): void }) {
  const [text, setText] = useState('')
  const [why, setWhy] = useState<string | null>(null)
  const read = async () => {
    const tool = toolOfCurl(text)
    if ('why' in tool) return setWhy(tool.why)
    onTool(tool)
    onClose()
  }
  return (
    <FormDialog
      title={t('A tool from a curl command')}
      submit={t('Fill in the fields')}
      isReady={text.trim() !== ''}
      form={{ isRunning: false, refused: why === null ? null : { message: why, issues: [] } }}
      onSubmit={read}
      onClose={onClose}
      isWide
    >
      <LongField
        label={t('The command')}
        value={text}
        onChange={setText}
        rows={10}
        isMono
        placeholder={
          "curl https://api.example.com/v1/refunds \\\n  -H 'Authorization: Bearer …' \\\n  --json '{\"amount\": 12.5}'"
        }
        hint={t(
          'As manuals show it, or as the developer tools of a browser copy it. It is read in this page.',
        )}
      />
    </FormDialog>
  )
}
