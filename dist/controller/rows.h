// Owns which rows of dimension 0 fall to which rank, in the collectives where ranks may have different
// numbers of them.
#pragma once

#include "dist/controller/agreement.h"

namespace kiln::dist {

/// `Agreement::by_rank` of submissions that are all there and agree in all else; or why the rows do not fit
/// together.
std::variant<RowsByRank, Refusal> rows_by_rank(const Name& name, const std::vector<int>& ranks,
                                               const Submissions& submitted);

/// "f32[3, 4], i64[2]"
std::string shapes_text(const Signature& signature);

}  // namespace kiln::dist
