/**
 * One question, answered at the same instant with the same verdict through the page, Slack and a verdict link: one counts,
 * the call runs once, and each of the others is told that it was settled, in the words of its way.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../../support/databases.ts'
import { dose } from '../../support/dose.ts'
import { drawn, randomSchedule } from '../../support/random.ts'
import { openLinkFixtures, sendForm, type LinkFixtures } from '../../support/link-fixtures.ts'
import { interact, openSlackServer, pressOf, type SlackServer } from '../../support/slack-server.ts'
import { openSlackFixtures, user, type SlackFixtures } from '../../support/slack-fixtures.ts'
import { openDeployment, type Deployment } from '../../support/deployment.ts'

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  let deployment: Deployment
  let slack: SlackServer
  let inSlack: SlackFixtures
  let links: LinkFixtures
  beforeAll(async () => {
    slack = await openSlackServer()
    deployment = await openDeployment(kind, { slackApiUrl: slack.url })
    inSlack = await openSlackFixtures(deployment.replicas[0]!, deployment.fixtures, slack)
    links = await openLinkFixtures(deployment.replicas[0]!, deployment.fixtures)
  })
  afterAll(async () => {
    await links?.close()
    await deployment?.close()
    await slack?.close()
  })

  test.each(['APPROVE', 'REJECT'] as const)(
    '%s three times at once',
    { timeout: 180_000 },
    async (verdict) => {
      const random = randomSchedule()
      const won = new Map<string, number>()
      for (let round = 0; round < dose(8, 100); round++) {
        const { approvalId, callId, tool, links: sent } = await links.question()
        await slack.until(() => inSlack.message(approvalId) !== undefined)
        const replica = (i: number) => deployment.replicas[(round + i) % deployment.replicas.length]!
        const byPage = () => links.gate.decide(approvalId, verdict)
        const byLink = () => {
          const { url, code } = sent[0]!
          return sendForm(url.replace(deployment.replicas[0]!.url, replica(1).url), { code, verdict })
        }
        const told = slack.ephemeral.length
        // Slack asks for the reason of a rejection first: there it is always the approval that is pressed.
        const bySlack = async () =>
          verdict === 'APPROVE'
            ? interact(replica(2).url, pressOf(inSlack.message(approvalId)!, 'approve', user))
            : null
        const soon = async <T>(act: () => Promise<T>) => {
          // Each way has some statements before its vote: none of them is always the first.
          await pause(random() * 20)
          return act()
        }
        const [page, link] = await Promise.all([soon(byPage), soon(byLink), soon(bySlack)])
        const approval = await links.gate.approval(approvalId)
        expect(approval['status']).toBe(verdict === 'APPROVE' ? 'APPROVED' : 'REJECTED')
        expect(approval['votes']).toHaveLength(1)
        const ways = {
          page: page['__typename'] === 'ApprovalPayload',
          link: link.status === 200,
          ...(verdict === 'APPROVE' ? { slack: slack.ephemeral.length === told } : {}),
        }
        const winners = Object.entries(ways).flatMap(([way, counted]) => (counted ? [way] : []))
        expect(winners, JSON.stringify(ways)).toHaveLength(1)
        won.set(winners[0]!, (won.get(winners[0]!) ?? 0) + 1)
        if (!ways.page) expect(page['__typename']).toBe('ApprovalAlreadyDecidedError')
        if (!ways.link)
          expect([link.status, link.text.includes('This request was settled already.')]).toEqual([409, true])
        if (ways.slack === false)
          expect(slack.ephemeral.at(-1)).toMatchObject({
            user,
            text: expect.stringMatching(/^(Somebody was faster|This request was settled)/),
          })
        await links.gate.untilCall(callId, verdict === 'APPROVE' ? ['SUCCEEDED'] : ['REJECTED'])
        expect(links.gate.paid(tool)).toHaveLength(verdict === 'APPROVE' ? 1 : 0)
      }
      console.log(`verdicts at once on ${kind}:`, verdict, Object.fromEntries(won))
    },
  )
})
