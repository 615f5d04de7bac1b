/**
 * Models examination: whether the model servers answer and accept this node's credentials.
 *
 * A running gateway passes the last fault of each server. Before a start, the examination asks each server for its list
 * of models.
 */
import type { ModelsConfig } from '../config/models.ts'
import type { DoctorFinding } from '../core/doctor-finding.ts'
import type { Fault } from '../core/fault.ts'
import { createOpenAiBackend } from './openai-client.ts'

export interface ModelsExaminationOptions {
  readonly config: ModelsConfig
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The faults of the servers, as a running gateway knows them. */
  readonly troubles?: readonly Fault[]
}

export async function examineModels({
  config,
  environment,
  troubles,
}: ModelsExaminationOptions): Promise<readonly DoctorFinding[]> {
  const found = [
    ...listMissingApiKeyVariables(config, environment).map((name) =>
      toFinding('warn', explainMissingApiKeyVariable(name)),
    ),
    // One missing model is a warning. A server that is unreachable or refuses the credentials makes all its models
    // unavailable, so it is a failure.
    ...(troubles ?? (await askServers(config, environment))).map(({ kind, message }) =>
      toFinding(kind === 'not-found' ? 'warn' : 'fail', message),
    ),
  ]
  if (found.length > 0) return found
  const { length: servers } = config.endpoints
  return [toFinding('ok', servers === 0 ? 'The built-in model only.' : `${servers} of ${servers} servers answer.`)]
}

/** Variables that should hold a key and are not set. */
export function listMissingApiKeyVariables(
  { endpoints }: ModelsConfig,
  environment: ModelsExaminationOptions['environment'],
): readonly string[] {
  return endpoints.flatMap(({ keyVariable: name }) =>
    name === undefined || (environment[name] ?? '') !== '' ? [] : [name],
  )
}

export function explainMissingApiKeyVariable(variable: string): string {
  return `models: the environment variable ${variable}, which should hold a key, is not set.`
}

async function askServers(
  { endpoints }: ModelsConfig,
  environment: ModelsExaminationOptions['environment'],
): Promise<readonly Fault[]> {
  const { signal } = new AbortController()
  const answers = await Promise.all(
    endpoints.map(async ({ url, keyVariable }) => {
      const key = keyVariable === undefined ? '' : (environment[keyVariable] ?? '')
      return createOpenAiBackend({ url, key: key === '' ? undefined : key }).reach?.(signal)
    }),
  )
  return answers.flatMap((answer) => (answer === undefined || answer.ok ? [] : [answer.fault]))
}

function toFinding(level: DoctorFinding['level'], sentence: string): DoctorFinding {
  return { level, about: 'models', sentence }
}
