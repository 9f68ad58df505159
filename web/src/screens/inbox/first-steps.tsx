/** What an empty inbox says: until a first question was decided, the steps that lead to one, with those that are done. */
import './first-steps.css'
import { useState } from 'react'
import { Link } from 'wouter'
import { graphql, type ResultOf } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { Icon } from '../../parts/icons.tsx'
import { Empty } from '../../parts/states.tsx'
import { t } from '../../texts/texts.tsx'

const stepsQuery = graphql(`
  query FirstSteps($projectId: ID) {
    viewer {
      tour {
        processId
      }
    }
    tools(projectId: $projectId, first: 20) {
      nodes {
        id
        gate {
          mode
        }
      }
    }
    agents(projectId: $projectId, first: 1) {
      nodes {
        id
      }
    }
    generations(projectId: $projectId, first: 1) {
      nodes {
        id
      }
    }
    approvals(projectId: $projectId, filter: { statuses: [APPROVED, REJECTED] }, first: 1) {
      nodes {
        id
      }
    }
  }
`)

const stepTypes = [
  'TOOL_CREATED',
  'TOOL_UPDATED',
  'AGENT_CREATED',
  'GENERATION_QUEUED',
  'APPROVAL_DECIDED',
] as const

interface Step {
  isDone: boolean
  href: string
  name: string
  about: string
}

/** The steps to a first decision, in their order. */
function stepsOf({ tools, agents, generations, approvals }: ResultOf<typeof stepsQuery>): Step[] {
  const [tool, agent] = [tools.nodes[0], agents.nodes[0]]
  return [
    {
      isDone: tool !== undefined,
      href: '/tools/new',
      name: t('A tool'),
      about: t('Something an agent can do, such as a request to your server.'),
    },
    {
      isDone: tools.nodes.some(({ gate }) => gate.mode !== 'NEVER'),
      href: tool ? `/tools/${tool.id}?tab=gate` : '/tools/new',
      name: t('A gate'),
      about: t('The rule that holds a call until a person decides.'),
    },
    {
      isDone: agent !== undefined,
      href: '/agents/new',
      name: t('An agent'),
      about: t('A model with instructions and tools.'),
    },
    {
      isDone: generations.nodes.length > 0,
      href: agent ? `/agents/${agent.id}` : '/agents/new',
      name: t('A run'),
      about: t('Send the agent a message on its page.'),
    },
    {
      isDone: approvals.nodes.length > 0,
      href: agent ? `/agents/${agent.id}` : '/agents/new',
      name: t('A decision'),
      about: t('Ask about gated calls: the request appears here and on the run’s page.'),
    },
  ]
}

export function FirstSteps() {
  // Once a question was decided there is nothing left to hear.
  const [isOver, setOver] = useState(false)
  const { data, error } = useQuery(stepsQuery, {}, { eventTypes: isOver ? [] : stepTypes })
  if (data && !isOver && stepsOf(data).every(({ isDone }) => isDone)) setOver(true)
  if (!data && !error) return null
  const steps = data ? stepsOf(data) : []
  const next = steps.find(({ isDone }) => !isDone)
  if (!next)
    return (
      <Empty title={t('Nothing waits for you')}>
        {t('When an agent needs approval, the request appears here at once.')}
      </Empty>
    )
  return (
    <section className="empty first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{t('Nothing waits for you yet')}</h2>
      <p>{t('When an agent needs approval, the request appears here. To get there:')}</p>
      <ol>
        {steps.map((step) => (
          <li key={step.name} data-done={step.isDone || undefined}>
            <span className="first-steps-mark">
              {step.isDone && <Icon name="check" />}
              <span className="sr-only">{step.isDone ? `${t('done:')} ` : `${t('to do:')} `}</span>
            </span>
            <span>
              {step === next ? (
                <Link href={step.href} className="strong">
                  {step.name}
                </Link>
              ) : (
                <span className="strong">{step.name}</span>
              )}
              <span className="small mute"> {step.about}</span>
            </span>
          </li>
        ))}
      </ol>
      {data?.viewer.tour && (
        <p>
          <Link href="/tour">{t('Take the tour of ninety seconds')}</Link>
        </p>
      )}
    </section>
  )
}
