/** What a run was started with, at the top of its conversation: the instructions of the system and the messages. */
import { Link } from 'wouter'
import { graphql } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { Foreign, LongText } from '../text.tsx'
import type { Run } from './run-feed.ts'
import { Prose } from './step-text.tsx'
import { t, T } from '../../texts/texts.tsx'

const inputQuery = graphql(`
  query RunInput($id: ID!) {
    generation(id: $id) {
      id
      input {
        messages {
          role
          content
          attachments {
            filename
            mediaType
          }
        }
        settings {
          instructions
        }
      }
    }
  }
`)

/** The thread of a run that began one has its number. */
const isFirst = ({ id, threadId }: Run) => id.replace(/^gen_/, '') === threadId.replace(/^thr_/, '')

/** With `isPart` the messages alone. */
export function RunInput({ run, isPart }: { run: Run; isPart: boolean }) {
  // It never changes.
  const input = useQuery(inputQuery, { id: run.id }).data?.generation?.input
  const instructions = input?.settings?.instructions ?? null
  return (
    <>
      {!isPart && instructions !== null && instructions !== '' && (
        <li>
          <details>
            <summary className="small mute">{t('Instructions of the agent')}</summary>
            <LongText text={instructions} />
          </details>
        </li>
      )}
      {!isPart && !isFirst(run) && (
        <li className="small mute">
          <p>
            <T
              text="It continues a thread. {link}"
              link={<Link href={`/runs?thread=${run.threadId}`}>{t('The runs in the thread')}</Link>}
            />
          </p>
        </li>
      )}
      {run.retryOf && (
        <li className="small mute">
          <p>
            <T
              text={
                run.retryStep
                  ? 'It begins behind step {step} of {run}.'
                  : 'It was started again, after {run}.'
              }
              step={run.retryStep}
              run={<Link href={`/runs/${run.retryOf.id}`}>{t('another run')}</Link>}
            />
          </p>
        </li>
      )}
      {input?.messages.map(({ role, content, attachments }, at) => (
        // Messages have no ids here, and never change places.
        // oxlint-disable-next-line react/no-array-index-key
        <li key={at} data-role={role}>
          <p className="run-talk-head small mute">
            <span>{role === 'ASSISTANT' ? t('Agent') : run.parent ? t('Parent agent') : t('User')}</span>
          </p>
          <Prose text={content} />
          {attachments.length > 0 && (
            <p className="small mute">
              <T
                text="Files: {files}"
                files={
                  <Foreign
                    text={attachments.map(({ filename, mediaType }) => filename ?? mediaType).join(', ')}
                    max={400}
                  />
                }
              />
            </p>
          )}
        </li>
      ))}
    </>
  )
}
