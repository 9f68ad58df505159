/** A field that leads anywhere by the keyboard, and does what it names: screens, tools, agents, requests, ids and acts. */
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import { useLocation } from 'wouter'
import { graphql } from '../api/document.ts'
import { useWhole } from '../api/pages.ts'
import { useQuery } from '../api/query.ts'
import { useThings } from '../api/things.ts'
import { useViewer } from '../api/viewer.ts'
import { Dialog } from '../parts/dialog.tsx'
import { isComposing } from '../parts/keys.ts'
import { PauseDialog, pauseProject } from '../parts/pause.tsx'
import { places, type View } from '../parts/places.ts'
import { sentenceText } from '../parts/sentence.tsx'
import { Foreign } from '../parts/text.tsx'
import { t } from '../texts/texts.tsx'
import { savedViewsQuery } from './saved-views.tsx'
import { actsFor, screenWords, type Choice } from './palette-acts.ts'

const namedQuery = graphql(`
  query Named($projectId: ID, $text: String!, $asks: Boolean!) {
    tools(projectId: $projectId, name: $text, first: 8) {
      nodes {
        id
        name
      }
    }
    agents(projectId: $projectId, name: $text, first: 8) {
      nodes {
        id
        name
      }
    }
    approvals(projectId: $projectId, filter: { statuses: [PENDING], search: $text }, first: 5)
      @include(if: $asks) {
      nodes {
        id
        toolName
        summary {
          parts {
            text
            isValue
          }
        }
      }
    }
  }
`)

const choice = (does: string, name: string, kind: string): Choice => ({ key: does, name, kind, does })

/** The screens by the names that people look for: a view of several is named with its place. */
const screens = places.flatMap(({ name, views }) =>
  views.map((view) => ({
    view,
    words: `${view.name} ${name} ${screenWords[view.href] ?? ''}`.toLowerCase(),
    shown: choice(view.href, view.name, view.name === name ? t('screen') : name),
  })),
)

/** Where the object with an id is; null for what is no id. Calls are looked up. */
function placeOfId(text: string): Choice | null {
  const prefix = /^([a-z]+)_[0-9a-z_]{1,40}$/.exec(text)?.[1]
  const pages: Record<string, [href: string, kind: string]> = {
    apr: [`/approvals/${text}`, t('approval request')],
    gen: [`/runs/${text}`, t('run')],
    thr: [`/runs?thread=${text}`, t('runs in the thread')],
    agt: [`/agents/${text}`, t('agent')],
    tool: [`/tools/${text}`, t('tool')],
    whk: [`/settings/webhooks/${text}`, t('webhook')],
  }
  const page = prefix === undefined ? undefined : pages[prefix]
  return page ? choice(page[0], text, page[1]) : null
}

/** What may be meant by what was typed, the most likely first. */
function useChoices(typed: string, isShown: (view: View) => boolean): Choice[] {
  const text = typed.trim()
  const viewer = useViewer()
  const isCall = text.startsWith('call_')
  const ids = useMemo(() => (isCall ? [text] : []), [isCall, text])
  const call = useThings(ids).get(text)
  const id = placeOfId(text)
  const isNamed = text !== '' && !isCall && id === null
  const asks = viewer?.may('approvals:List') ?? false
  const views = useWhole(savedViewsQuery, {}, [], { skip: !viewer?.may('views:List') })
  const found = useQuery(namedQuery, { text: text.slice(0, 100), asks }, { skip: !isNamed }).data
  const wanted = text.toLowerCase()
  const shown = screens
    .filter(({ view, words }) => isShown(view) && words.includes(wanted))
    .map((one) => one.shown)
  if (id) return [id]
  if (isCall) return call?.href ? [choice(call.href, call.name, t('call'))] : []
  if (!isNamed) return shown
  const q = encodeURIComponent(text.slice(0, 200))
  return [
    ...shown,
    ...actsFor(wanted, viewer),
    ...(found?.approvals?.nodes ?? []).map((one) =>
      choice(`/approvals/${one.id}`, sentenceText(one.summary) || one.toolName, t('waiting')),
    ),
    ...views
      .filter(({ name }) => name.toLowerCase().includes(wanted))
      .map((one) => ({ ...choice(one.address, one.name, t('saved view')), key: one.id })),
    ...(found?.tools.nodes ?? []).map((one) => choice(`/tools/${one.id}`, one.name, t('tool'))),
    ...(found?.agents.nodes ?? []).map((one) => choice(`/agents/${one.id}`, one.name, t('agent'))),
    choice(`/runs?q=${q}`, t('Runs with “{text}”', { text }), t('search')),
    choice(`/approvals?view=decided&q=${q}`, t('Decided requests with “{text}”', { text }), t('search')),
  ]
}

interface Props {
  isShown(view: View): boolean
  onClose(): void
}

export default function Palette({ isShown, onClose }: Props) {
  const [, go] = useLocation()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const field = useRef<HTMLInputElement>(null)
  // After the dialog has opened, which takes the focus.
  useEffect(() => field.current?.focus(), [])
  const [isPausing, setPausing] = useState(false)
  const found = useChoices(typed, isShown)
  const chosen = Math.min(at, found.length - 1)
  const take = ({ does }: Choice) => {
    if (does === 'pause') return setPausing(true)
    onClose()
    if (typeof does === 'string') go(does)
    else does()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined && found.length > 0) {
      event.preventDefault()
      setAt((chosen + by + found.length) % found.length)
    }
    const one = found[chosen]
    const isPlain = !event.ctrlKey && !event.metaKey
    if (event.key === 'Enter' && one && isPlain) take(one)
  }
  if (isPausing) return <PauseDialog {...pauseProject()} onClose={onClose} />
  return (
    <Dialog title={t('Go to, or do')} onClose={onClose}>
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label={t('Screen, action, tool, agent or id')}
        placeholder={t('Screen, action, tool, agent or id')}
        aria-expanded={found.length > 0}
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}-${chosen}` : undefined}
        autoComplete="off"
        maxLength={200}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={list} role="listbox" aria-label={t('Places and actions')} className="palette">
        {found.map((one, index) => (
          <div
            key={one.key}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onPointerDown={(event) => {
              event.preventDefault()
              take(one)
            }}
          >
            <Foreign text={one.name} max={120} />
            <span className="small mute spread">{one.kind}</span>
          </div>
        ))}
      </div>
      <output className="small mute">{found.length === 0 ? t('Nothing has this name or id.') : ''}</output>
    </Dialog>
  )
}
