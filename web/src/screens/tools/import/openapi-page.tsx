/** Tools from an OpenAPI document, which is read in the page: a list of its operations, from which some are chosen. */
import '../tools.css'
import './openapi.css'
import { useState } from 'react'
import { Field } from '../../../parts/fields.tsx'
import { Form } from '../../../parts/form.tsx'
import { NewPage } from '../../../parts/detail-page.tsx'
import { Foreign } from '../../../parts/text.tsx'
import { DocumentFields } from './document-fields.tsx'
import { apiOf, type Api } from './openapi.ts'
import { Operations } from './operations.tsx'
import { Outcomes } from './outcomes.tsx'
import { useCreation } from './use-creation.ts'
import { Fault } from '../../../parts/fault.tsx'
import { t, plural } from '../../../texts/texts.tsx'

export function ImportOpenApi() {
  const [api, setApi] = useState<Api | null>(null)
  return (
    <NewPage kind="tool" title={t('Tools from OpenAPI')} list="/tools" bodyClass="stack tool-page">
      {api ? <Choose api={api} onAnother={() => setApi(null)} /> : <Source onApi={setApi} />}
    </NewPage>
  )
}

function Source({ onApi }: { onApi(api: Api): void }) {
  const [text, setText] = useState('')
  const [why, setWhy] = useState<string | null>(null)
  const read = (document: string) => {
    const api = apiOf(document)
    if ('why' in api) setWhy(api.why)
    else onApi(api)
  }
  return (
    <Form onSubmit={() => read(text)}>
      <p className="mute">
        {t(
          'Each operation you select becomes an HTTP tool. The document is read in your browser: OpenAPI 3.0 or 3.1 as JSON, not YAML.',
        )}
      </p>
      <DocumentFields value={text} onChange={setText} onFile={read} rows={10} />
      <Fault className="" text={why} />
      <div className="row form-foot">
        <button type="submit" className="primary" disabled={text.trim() === ''}>
          {t('Read the document')}
        </button>
      </div>
    </Form>
  )
}

function Choose({ api, onAnother }: { api: Api; onAnother(): void }) {
  const [base, setBase] = useState(api.server ?? '')
  const [secret, setSecret] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  // Those whose gate is another than the one proposed.
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set())
  const creation = useCreation(api)
  const isReady = /^https?:\/\/[^/\s]/.test(base.trim()) && chosen.size > 0
  const create = () =>
    creation.run({ base: base.trim().replace(/\/+$/, ''), secret: secret.trim() }, chosen, turned)
  return (
    <>
      <section className="fields" aria-label={t('The document')}>
        <p className="row">
          <Foreign className="strong" text={api.title} max={120} />
          <span className="mute">{t('{count} operations', { count: api.operations.length })}</span>
          <button type="button" className="spread" onClick={onAnother}>
            {t('Another document')}
          </button>
        </p>
        <Field
          label={t('Address of the API')}
          value={base}
          onChange={setBase}
          isRequired
          type="url"
          placeholder={`https://api.example.com${api.serverPath}`}
          hint={api.server ? t('The first server of the document.') : missingServer(api)}
        />
        {api.login && (
          <Field
            label={t('Secret to sign in with')}
            value={secret}
            onChange={setSecret}
            placeholder={t('none')}
            hint={t('Its name under Settings, Secrets. It is sent as {name}, and must be saved before.', {
              name: api.login.name,
            })}
          />
        )}
        {api.leftOut.length > 0 && (
          <ul className="notes tone-warn">
            {api.leftOut.map((sentence) => (
              <li key={sentence}>
                <Foreign text={sentence} max={200} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <Operations api={api} chosen={chosen} turned={turned} onChosen={setChosen} onTurned={setTurned} />
      <div className="row form-foot">
        <button
          type="button"
          className="primary"
          disabled={!isReady || creation.isRunning}
          onClick={() => void create()}
        >
          {creation.isRunning
            ? t('Creating, {count} of {total} …', { count: creation.outcomes.length, total: creation.total })
            : plural(chosen.size, 'Create the tool', 'Create {count} tools')}
        </button>
        {creation.isRunning && (
          <button type="button" onClick={creation.stop}>
            {t('Stop')}
          </button>
        )}
      </div>
      <Outcomes outcomes={creation.outcomes} isRunning={creation.isRunning} />
    </>
  )
}

const missingServer = ({ serverPath }: Api): string =>
  serverPath === ''
    ? t('The document names no server.')
    : t('The document names only the path {path}: put the host in front of it.', { path: serverPath })
