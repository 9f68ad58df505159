/** The result of a tool: blocks of MCP content, and JSON. Everything in it is a stranger's. */
import './content.css'
import { useMemo } from 'react'
import { readForeignJson } from '../../../src/core/exact-json.ts'
import { blocksOf, bytesText, type Block } from './content-blocks.ts'
import { isDeepSame } from './deep-same.ts'
import { JsonText } from './json-view.tsx'
import { Foreign, LongText } from './text.tsx'
import { t, T } from '../texts/texts.tsx'

interface Props {
  /** The blocks; null: none. */
  content: unknown
  /** Null: none. */
  structured?: unknown
}

export function Content({ content, structured = null }: Props) {
  const blocks = useMemo(() => blocksOf(content), [content])
  return (
    <div className="list">
      {blocks.map((block) => (
        <OneBlock key={block.at} block={block} />
      ))}
      {structured !== null && !isShown(blocks, structured) && (
        <div className="content-block">
          <JsonText value={structured} />
        </div>
      )}
    </div>
  )
}

/** Whether the text of the result is the structured result too, as most servers send it. */
function isShown(blocks: readonly Block[], structured: unknown): boolean {
  const [only] = blocks
  if (blocks.length !== 1 || only?.kind !== 'text' || !only.isJson) return false
  return isDeepSame(readForeignJson(only.text), structured)
}

function OneBlock({ block }: { block: Block }) {
  switch (block.kind) {
    case 'text':
      return (
        <div className="content-block">
          {block.text === '' ? (
            <p className="mute">{t('empty text')}</p>
          ) : (
            <LongText text={block.text} mono={block.isJson} />
          )}
        </div>
      )
    case 'image':
      return (
        <figure className="content-block">
          <img src={block.url} alt={t('Returned by the tool')} />
          <figcaption className="small mute">
            {block.mimeType}, {bytesText(block.bytes)}
          </figcaption>
        </figure>
      )
    case 'link':
      return <ResourceLink {...block} />
    case 'data':
      return (
        <p className="content-block mute">
          <T
            text="Data of type {what}, {bytes}, not shown"
            what={<Foreign text={block.what} max={100} />}
            bytes={bytesText(block.bytes)}
          />
        </p>
      )
    default:
      return (
        <details className="content-block">
          <summary>{t('Another kind of content')}</summary>
          <JsonText value={block.value} />
        </details>
      )
  }
}

/** A link with its host, for addresses of the web only. */
function ResourceLink({ uri, host, name }: Extract<Block, { kind: 'link' }>) {
  if (host === null)
    return (
      <p className="content-block">
        <Foreign text={uri} max={400} />
      </p>
    )
  return (
    <p className="content-block">
      <a href={uri} rel="noreferrer noopener" target="_blank">
        <Foreign text={name} max={200} />
      </a>{' '}
      <span className="small mute">
        <T text="at {host}" host={<Foreign text={host} max={100} />} />
      </span>
    </p>
  )
}
