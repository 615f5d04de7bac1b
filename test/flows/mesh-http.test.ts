import { meshFlows } from '../mesh-flows.ts'
import { openNetwork } from '../mesh-network.ts'

meshFlows('HTTP alone', async () => ({ network: openNetwork('communities over HTTP') }))
