/** The operations that this client sends by itself. Their types are in operation-types.ts, which `npm run schema` writes. */

const refusal = `fragment Refusal on Error {
  __typename
  code
  message
  ... on ValidationError { issues { path message } }
  ... on LimitReachedError { retryAfterMs }
  ... on ConflictError { approval { ...Approval } }
  ... on ApprovalAlreadyDecidedError { approval { ...Approval } }
  ... on ApprovalExpiredError { approval { ...Approval } }
}`

const plainRefusal = `fragment Refusal on Error {
  __typename
  code
  message
  ... on ValidationError { issues { path message } }
  ... on LimitReachedError { retryAfterMs }
}`

const toolCall = `fragment ToolCall on ToolCall {
  id
  name
  status
  arguments
  content
  structuredContent
  isError
  errorCode
  createdAt
  settledAt
  deadlineAt
  approval { id status expiresAt }
}`

const approval = `fragment Approval on Approval {
  id
  status
  toolName
  toolVersion
  arguments
  maskedPaths
  digest
  createdAt
  expiresAt
  settledAt
  voidReason
  question { title description }
  tool { annotations { destructiveHint readOnlyHint } }
  agent { id name }
  generation { id }
  toolCall { id status }
  requester { id kind name }
  requirement { quorum }
  votes { by byName verdict reason at }
  decision { by byName verdict reason at }
  viewerCanDecide { may why }
}`

const generation = `fragment Generation on Generation {
  id
  status
  stopReason
  truncated
  threadId
  stepCount
  createdAt
  finishedAt
  output { text object }
  error { code message }
  model { name isAi }
}`

const generationEvent = `fragment GenerationEvent on GenerationEvent {
  type
  cursor
  at
  generationId
  ... on TextDeltaEvent { stepIndex attempt offset text }
  ... on StepResetEvent { stepIndex attempt reason }
  ... on MessageCommittedEvent { stepIndex step { text } }
  ... on ToolCallProposedEvent { stepIndex name toolCall { ...ToolCall } }
  ... on ToolCallStartedEvent { name attempt toolCall { ...ToolCall } }
  ... on ToolCallSettledEvent { name status toolCall { ...ToolCall } }
  ... on ToolCallUnknownEvent { name reason toolCall { ...ToolCall } }
  ... on RequiresActionEvent { descendantId toolCalls { ...ToolCall } }
  ... on ApprovalRequestedEvent { descendantId name approval { ...Approval } }
  ... on ApprovalVotedEvent { descendantId name approval { ...Approval } }
  ... on ApprovalDecidedEvent { descendantId name verdict approval { ...Approval } }
  ... on ApprovalExpiredEvent { descendantId name approval { ...Approval } }
  ... on ApprovalVoidedEvent { descendantId name approval { ...Approval } }
  ... on GenerationCompletedEvent { stopReason }
  ... on GenerationFailedEvent { code }
}`

const projectEvent = `fragment ProjectEvent on ProjectEvent {
  type
  cursor
  at
  projectId
  ... on GenerationEvent { generationId }
  ... on ToolCallSettledEvent { name toolCall { ...ToolCall } }
  ... on ToolCallUnknownEvent { name toolCall { ...ToolCall } }
  ... on ApprovalRequestedEvent { name approval { ...Approval } }
  ... on ApprovalVotedEvent { name approval { ...Approval } }
  ... on ApprovalDecidedEvent { name verdict approval { ...Approval } }
  ... on ApprovalExpiredEvent { name approval { ...Approval } }
  ... on ApprovalVoidedEvent { name approval { ...Approval } }
  ... on ApprovalExtendedEvent { name approval { ...Approval } }
  ... on ApprovalEscalatedEvent { name approval { ...Approval } }
}`

/** An operation followed by the fragments that it uses. */
const withFragments = (operation: string, ...fragments: string[]) => [operation, ...fragments].join('\n')

export const startGeneration = withFragments(
  `mutation StartGeneration($input: StartGenerationInput!) {
  startGeneration(input: $input) {
    ... on GenerationPayload { generation { ...Generation } callbackSecret }
    ...Refusal
  }
}`,
  generation,
  plainRefusal,
)

export const cancelGeneration = withFragments(
  `mutation CancelGeneration($input: CancelGenerationInput!) {
  cancelGeneration(input: $input) {
    ... on GenerationPayload { generation { ...Generation } }
    ...Refusal
  }
}`,
  generation,
  plainRefusal,
)

export const generationById = withFragments(
  'query GenerationById($id: ID!) { generation(id: $id) { ...Generation } }',
  generation,
)

export const submitToolOutputs = withFragments(
  `mutation SubmitToolOutputs($input: SubmitToolOutputsInput!) {
  submitToolOutputs(input: $input) {
    ... on SubmitToolOutputsPayload { outcomes { toolCallId status error { code message } } }
    ...Refusal
  }
}`,
  plainRefusal,
)

export const callTool = withFragments(
  `mutation CallTool($input: CallToolInput!) {
  callTool(input: $input) {
    ... on ToolCallPayload { toolCall { ...ToolCall } callbackSecret }
    ...Refusal
  }
}`,
  toolCall,
  plainRefusal,
)

export const toolCallById = withFragments(
  'query ToolCallById($id: ID!) { toolCall(id: $id) { ...ToolCall } }',
  toolCall,
)

export const decideApproval = withFragments(
  `mutation DecideApproval($input: DecideApprovalInput!) {
  decideApproval(input: $input) {
    ... on ApprovalPayload { approval { ...Approval } }
    ...Refusal
  }
}`,
  approval,
  refusal,
)

export const approvalAndViewer = withFragments(
  'query ApprovalAndViewer($id: ID!) { approval(id: $id) { ...Approval } viewer { id } }',
  approval,
)

export const approvalById = withFragments(
  'query ApprovalById($id: ID!) { approval(id: $id) { ...Approval } }',
  approval,
)

export const pendingApprovals = withFragments(
  `query PendingApprovals($projectId: ID, $after: String) {
  approvals(projectId: $projectId, filter: { statuses: [PENDING] }, first: 50, after: $after) {
    nodes { ...Approval }
    pageInfo { hasNextPage endCursor }
  }
}`,
  approval,
)

export const viewerCursor = 'query ViewerCursor { viewer { project { id feedCursor } } }'

export const feedCursorOf =
  'query FeedCursorOf($projectId: ID!) { project(id: $projectId) { id feedCursor } }'

export const generationEvents = withFragments(
  `subscription GenerationEvents($generationId: ID!, $after: String) {
  generationEvents(generationId: $generationId, after: $after) { ...GenerationEvent }
}`,
  generationEvent,
  toolCall,
  approval,
)

export const projectEvents = withFragments(
  `subscription ProjectEvents($projectId: ID, $after: String, $types: [EventType!]) {
  projectEvents(projectId: $projectId, after: $after, types: $types) { ...ProjectEvent }
}`,
  projectEvent,
  toolCall,
  approval,
)
